import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, messageOf, type Places } from 'pith';
import { FileRefused, isInside, Jail } from '@pith/safe-files';

/** Best first: each folder has only one of them. */
export const NAMES: readonly string[] = ['AGENTS.md', 'CLAUDE.md'];
/** Far more than a model gets; the rest is not read. */
const MOST_BYTES = 256 * 1024;

/** A file of instructions, with its name relative to the project. */
export interface Instructions {
  readonly name: string;
  /** null: it cannot be used, because of `why`. */
  readonly text: string | null;
  readonly why: string | null;
  /** The file continues after `text`. */
  readonly isPart: boolean;
  /** Names after `@` for which there is no file. */
  readonly missing: readonly string[];
}

/** The files that the person was shown when they trusted the project, outermost folder first. */
export async function findInstructions({ project, projectFiles }: Pick<Places, 'project' | 'projectFiles'>): Promise<Instructions[]> {
  if (project === null) return [];
  const found: Instructions[] = [];
  for (const folder of foldersOf(projectFiles)) {
    const named = NAMES.map((name) => path.join(folder, name)).filter((file) => projectFiles.includes(file));
    for (const file of named) {
      const read = await readProjectFile(file, project);
      if (read === null) continue; // it no longer exists
      found.push({ name: path.relative(project, file), ...read });
      break;
    }
  }
  return found;
}

/** Files in the project itself that appeared after the person was shown them. */
export function notShown({ project, projectFiles }: Pick<Places, 'project' | 'projectFiles'>): readonly string[] {
  if (project === null) return [];
  const files = NAMES.map((name) => path.join(project, name));
  return files.some((file) => projectFiles.includes(file))
    ? []
    : files.filter((file) => existsSync(file)).map((file) => path.basename(file));
}

function foldersOf(files: readonly string[]): readonly string[] {
  const folders = new Set(files.filter((file) => NAMES.includes(path.basename(file))).map((file) => path.dirname(file)));
  return [...folders].filter((folder) => path.basename(folder) !== '**').sort((a, b) => a.length - b.length);
}

/** The folder that links may not leave: the git root around the project, else the project. */
function linkRootOf(project: string): string {
  for (let at = project; ; at = path.dirname(at)) {
    if (existsSync(path.join(at, '.git'))) return at;
    if (at === path.dirname(at)) return project;
  }
}

/** A project's file with its imports; null: there is none. A link is followed within the git root, to another text file for people. */
export async function readProjectFile(file: string, project: string): Promise<Omit<Instructions, 'name'> | null> {
  const read = await readInstructions(file, linkRootOf(project));
  if (read === null || read.text === null) return read;
  const root = isInside(file, project) ? project : path.dirname(file);
  const missing: string[] = [];
  const text = await withImports(read.text, { file, root, depth: 0, seen: new Set([await realPathOrSame(file)]), missing });
  return { ...read, text, missing };
}

async function readInstructions(file: string, root: string): Promise<Omit<Instructions, 'name'> | null> {
  try {
    const real = await realpath(file);
    if (!isInside(real, root)) return unusable('it is a link that leads out of the project');
    if (path.extname(real).toLowerCase() !== '.md') return unusable('it is a link to something else than Markdown');
    const jail = new Jail(root);
    const { bytes, size } = await jail.read(jail.namesOf(real), async (handle, length) => {
      const buffer = Buffer.alloc(Math.min(length, MOST_BYTES));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
      return { bytes: buffer.subarray(0, bytesRead), size: length };
    });
    const text = textOf(bytes);
    if (text === null) return unusable('it is not UTF-8 text');
    return text.trim() === '' ? null : { text, why: null, isPart: size > bytes.length, missing: [] };
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error, ''))) return null;
    if (error instanceof FileRefused && error.code === 'file_unavailable') return unusable('it is not an ordinary file');
    return unusable(messageOf(error));
  }
}

function unusable(why: string): Omit<Instructions, 'name'> {
  return { text: null, why, isPart: false, missing: [] };
}

/** null: binary, or of another encoding. A character that is cut at the end is left out. */
function textOf(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return text.includes('\0') ? null : text;
  } catch {
    return null; // the decoder throws for bytes that are not UTF-8
  }
}

const DEEPEST_IMPORT = 5;
const MOST_IMPORTS = 50;
/** `@path` at the start of a word, as other tools read it: `@docs/style.md`, `@./a.md`; not an e-mail address, not code. */
const IMPORT = /(?<=^|[\s(])@((?:\.{0,2}\/)?[\w./-]*\w\.md)\b/gimu;

interface Importing {
  readonly file: string;
  readonly depth: number;
  /** The folder that imports may not leave. */
  readonly root: string;
  /** Real paths of the files that are in the text: each comes once. */
  readonly seen: Set<string>;
  readonly missing: string[];
}

/** The text, followed by the files that it names by `@path`, each with its name. An import that cannot be used is noted there. */
async function withImports(text: string, importing: Importing): Promise<string> {
  const { file, root, depth, seen, missing } = importing;
  const folder = path.dirname(await realPathOrSame(file));
  const parts: string[] = [];
  for (const [, name = ''] of text.replaceAll(/^(```|~~~)[^]*?^\1|`[^`\n]*`/gmu, '').matchAll(IMPORT)) {
    const target = await realPathOrSame(path.resolve(folder, name));
    if (seen.has(target) || seen.size > MOST_IMPORTS) continue;
    seen.add(target);
    const why = !isInside(target, root)
      ? 'it leads out of the project'
      : depth >= DEEPEST_IMPORT
        ? `more than ${DEEPEST_IMPORT} files deep`
        : null;
    const read = why === null ? await readInstructions(target, root) : unusable(why);
    if (read === null) {
      missing.push(name); // a person is notified: it may be a word that only looks like a file
      continue;
    }
    const body =
      read.text === null ? `[not used: ${read.why}]` : await withImports(read.text, { ...importing, file: target, depth: depth + 1 });
    parts.push(`[@${name}]\n${body.trim()}`);
  }
  return [text.trimEnd(), ...parts].join('\n\n');
}

async function realPathOrSame(file: string): Promise<string> {
  return realpath(file).catch(() => file); // it does not exist, which the reader reports
}
