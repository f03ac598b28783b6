import { readRegularFile } from '@pith/safe-files';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseSkillFile, type ParsedSkill, unreadable } from '../format/skill-file.ts';
import { reasonOf } from '../reading/reason.ts';

type Diagnostic = ParsedSkill['diagnostics'][number];

export interface LintResult {
  /** The path that was given. */
  readonly path: string;
  readonly valid: boolean;
  readonly diagnostics: readonly Diagnostic[];
}

/** Checks `given`, relative to `directory`, against the specification: a skill's folder, its SKILL.md, or a parent. Never rejects. */
export async function lintSkills(given: string, directory: string): Promise<readonly LintResult[]> {
  const folder = path.resolve(directory, given);
  const below = await skillsBelow(folder, DEEPEST);
  if (below.length === 0 || below[0] === folder) return [await lintSkill(given, directory)];
  return Promise.all(below.map((skill) => lintSkill(path.join(given, path.relative(folder, skill)), directory)));
}

/** The SKILL.md files of `given`, relative to `directory`: absolute and sorted by folder; empty where there is none. */
export async function skillFilesOf(given: string, directory: string): Promise<readonly string[]> {
  const folder = path.resolve(directory, given);
  const below = await skillsBelow(folder, DEEPEST);
  const files = await Promise.all((below.length === 0 ? [folder] : below).map(skillFileOf));
  return files.filter((file) => typeof file === 'string');
}

const DEEPEST = 4;
/** Larger than a SKILL.md may be, so that it is reported as too large. */
const LINT_LIMIT = 16 * 1024 * 1024;

/** Folders with a SKILL.md, sorted; folders within one belong to that skill. Empty for a path that cannot be read. */
async function skillsBelow(folder: string, depth: number): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []); // lintSkill reports it
  if (entries.some(({ name }) => name.toLowerCase() === 'skill.md')) return [folder];
  if (depth === 0) return [];
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules');
  const found = await Promise.all(folders.map(({ name }) => skillsBelow(path.join(folder, name), depth - 1)));
  return found.flat().sort();
}

/** Checks a skill's folder or its SKILL.md, relative to `directory`, against the specification. Never rejects. */
export async function lintSkill(given: string, directory: string): Promise<LintResult> {
  const file = await skillFileOf(path.resolve(directory, given));
  if (typeof file !== 'string') return { path: given, valid: false, diagnostics: [file] };
  const about = { id: path.basename(path.dirname(file)), file, mode: 'lint' } as const;
  const bytes = await readRegularFile(file, LINT_LIMIT).catch(reasonOf);
  const { valid, diagnostics } = typeof bytes === 'string' ? unreadable(about, bytes) : await parseSkillFile(bytes, about);
  return { path: given, valid, diagnostics };
}

async function skillFileOf(folder: string): Promise<string | Diagnostic> {
  try {
    if (!(await stat(folder)).isDirectory()) {
      if (path.basename(folder).toLowerCase() === 'skill.md') return folder;
      return problem('path_no_directory', 'is not a folder', folder, 'name the folder with `SKILL.md`, or that file');
    }
    const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => !entry.isDirectory());
    const names = files
      .map(({ name }) => name)
      .filter((name) => name.toLowerCase() === 'skill.md')
      .sort();
    if (names[0] !== undefined) return path.join(folder, names[0]);
    return problem('skill_file_missing', 'has no SKILL.md', folder, 'put a file `SKILL.md` there, or name a folder that has one');
  } catch (error) {
    const absent = reasonOf(error) === 'ENOENT';
    return problem(
      'path_missing',
      absent ? 'does not exist' : `cannot be read: ${reasonOf(error)}`,
      folder,
      'name a folder with a `SKILL.md` and that you may read',
    );
  }
}

function problem(code: string, message: string, file: string, cure: string): Diagnostic {
  return { severity: 'error', code, message, file, cure };
}
