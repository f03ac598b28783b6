import path from 'node:path';
import type { SkillFields } from '../format/fields.ts';
import { splitFrontmatter } from '../format/frontmatter.ts';
import { parseSkillFile } from '../format/skill-file.ts';
import { FILE_LIMIT } from '../format/rules.ts';
import { folderTree } from '../tree/folder-tree.ts';
import { readRegularFile } from '../regular-file.ts';
import type { Diagnostic } from 'pith';

/** A skill with all that lint looks at. */
export interface LintedSkill extends SkillFields {
  readonly id: string;
  readonly directory: string;
  /** Its SKILL.md. */
  readonly file: string;
  readonly text: string;
  readonly body: string;
  /** On which line the body begins, from 1. */
  readonly bodyLine: number;
  /** Every file below the folder, relative to it. */
  readonly resources: readonly string[];
}

/** null for what cannot be read or loaded: the specification's rules say why. */
export async function readSkillFolder(file: string): Promise<LintedSkill | null> {
  const directory = path.dirname(file);
  const id = path.basename(directory);
  const bytes = await readRegularFile(file, FILE_LIMIT).catch(() => null);
  if (bytes === null) return null;
  const { valid, fields } = await parseSkillFile(bytes, { id, file, mode: 'load' });
  const text = bytes.toString('utf8');
  const split = splitFrontmatter(text, true);
  if (!valid || 'code' in split) return null;
  const tree = await folderTree(directory).catch(() => null); // it was read a moment ago: it is gone now
  const resources = (tree?.files ?? []).map(({ path: name }) => name).filter((name) => name !== path.basename(file));
  const bodyLine = text.slice(0, split.bodyOffset).split('\n').length;
  return { ...fields, id, directory, file, text, body: text.slice(split.bodyOffset), bodyLine, resources };
}

/** The line of a frontmatter key, from 1. */
export function lineOf({ text }: LintedSkill, key: string): number {
  const line = text.split('\n', 400).findIndex((one) => one.startsWith(`${key}:`));
  return line < 0 ? 1 : line + 1;
}

/** A finding of lint about one skill; the file is that of the skill. */
export function advice(skill: LintedSkill, code: string, message: string, cure: string, line: number | string = 1): Diagnostic {
  return {
    severity: 'warning',
    code,
    message,
    file: skill.file,
    line: typeof line === 'string' ? lineOf(skill, line) : line,
    column: 1,
    cure,
  };
}
