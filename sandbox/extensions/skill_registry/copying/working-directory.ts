import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { constants, realpathSync } from 'node:fs';
import { link, mkdir, open, readdir, unlink } from 'node:fs/promises';
import { codeOf } from 'pith';
import { runsLater } from '@pith/safe-files';
import { openBelow, openFolder, type Inside } from '../reading/inside.ts';
import { isInside } from '../scan/sources.ts';

/** What came of writing a new file. */
export type Written =
  | 'written'
  | 'exists'
  /** It would be taken for part of a skill, an extension or an agent, or holds state or settings. */
  | 'protected'
  /** A link, a file or nothing that may be used stands in its way. */
  | 'refused';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** The folder in which agents work: the sandbox, as for the tool `file`. Files are only ever added, and never outside. */
export class WorkingDirectory {
  readonly #sandbox: string;
  readonly #reserved: () => readonly string[];

  /** `reserved`: absolute paths of further folders that are not written to. */
  constructor(sandbox: string, reserved: () => readonly string[]) {
    this.#sandbox = sandbox;
    this.#reserved = reserved;
  }

  /** Whole or not at all; missing folders are made. `segments` are the names from the sandbox down. */
  async add(segments: readonly string[], bytes: Uint8Array): Promise<Written> {
    const root = realpathSync(this.#sandbox);
    if (isProtected(segments) || this.#isReserved(path.join(root, ...segments))) return 'protected';
    const folder = await openFolder(root);
    if (folder === null) return 'refused';
    let current = folder;
    try {
      for (const name of segments.slice(0, -1)) {
        const next = await this.#below(current, name);
        if (typeof next === 'string') return next;
        if (current !== folder) await current.handle.close();
        current = next;
      }
      return await create(current, segments.at(-1)!, bytes);
    } finally {
      if (current !== folder) await current.handle.close();
      await folder.handle.close();
    }
  }

  async #below(folder: Inside, name: string): Promise<Inside | Written> {
    const known = await openBelow(folder, [name], 'folder');
    if (known === null) {
      const made = await mkdir(inside(folder, name)).then(() => true, absent);
      return (made ? await openBelow(folder, [name], 'folder') : null) ?? 'refused';
    }
    if (!declaresSomething(await readdir(inside(known, '.')))) return known;
    await known.handle.close();
    return 'protected';
  }

  #isReserved(target: string): boolean {
    return this.#reserved().some((folder) => isInside(target, folder) || isInside(target, real(folder)));
  }
}

/** Under another name first: a file that is not whole is never seen, and what is there already stays. */
async function create(folder: Inside, name: string, bytes: Uint8Array): Promise<Written> {
  const temporary = inside(folder, `.${randomBytes(8).toString('hex')}.tmp`);
  const handle = await open(temporary, CREATE, 0o666);
  try {
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(temporary, inside(folder, name));
    return 'written';
  } catch (error) {
    if (codeOf(error, '') === 'EEXIST') return 'exists';
    throw error;
  } finally {
    await unlink(temporary);
  }
}

function inside({ handle }: Inside, name: string): string {
  return `/proc/self/fd/${handle.fd}/${name}`;
}

function absent(error: unknown): false {
  if (codeOf(error, '') === 'EEXIST') return false; // a link or a file
  throw error;
}

function real(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder; // it does not exist: nothing is there that could be changed
  }
}

/** What makes a folder a skill, an extension or an agent. */
const DECLARATIONS: ReadonlySet<string> = new Set(['skill.md', 'manifest.yaml', 'agent.md']);

/** True for a path, as names from the sandbox down, at which nothing is put without a person: state, and whatever runs later and unasked. */
function isProtected(segments: readonly string[]): boolean {
  return segments.length === 0 || segments[0]?.toLowerCase() === 'data' || runsLater(segments) !== null;
}

/** Whether a folder with these names is a skill, an extension or an agent, wherever it lies. */
function declaresSomething(names: readonly string[]): boolean {
  return names.some((name) => DECLARATIONS.has(name.toLowerCase()));
}
