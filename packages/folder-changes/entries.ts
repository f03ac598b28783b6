import { lstatSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { codeOf, readRegularFile, replaceFile } from '@pith/safe-files';
import { ChangeRefused, type Refusals } from './refused.ts';

/** A JSON file with an entry for each folder: `{ "version": 1, "<name>": { "<id>": … } }`. A damaged file is never overwritten. */
export interface EntriesFile<Entry> {
  readonly file: string;
  /** The key of the entries. */
  readonly name: string;
  /** Throws for a value that is not an entry. */
  entryOf(id: string, value: unknown): Entry;
}

const VERSION = 1;
/** In bytes; far more than thousands of entries need. */
const LARGEST = 16 * 1024 * 1024;

/** The entries by id; empty where the file is absent. */
export async function readEntries<Entry>(
  entries: EntriesFile<Entry> | null,
  { damaged }: Pick<Refusals, 'damaged'>,
): Promise<Map<string, Entry>> {
  if (entries === null) return new Map();
  const { file, name, entryOf } = entries;
  try {
    const value = JSON.parse(await textOf(file)) as Record<string, unknown>;
    const found = value[name];
    if (value['version'] !== VERSION) throw new TypeError(`its version is ${JSON.stringify(value['version'])} and not ${VERSION}`);
    if (typeof found !== 'object' || found === null || Array.isArray(found)) throw new TypeError(`it has no ${name}`);
    return new Map(Object.entries(found).map(([id, entry]) => [id, entryOf(id, entry)]));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return new Map();
    throw new ChangeRefused(damaged(error instanceof Error ? error.message : String(error)), { where: file, cause: error });
  }
}

/** Replaces the whole file. */
export function writeEntries<Entry>({ file, name }: EntriesFile<Entry>, entries: ReadonlyMap<string, Entry>): void {
  const sorted = Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
  const mode = lstatSync(file, { throwIfNoEntry: false })?.mode ?? 0o644;
  replaceFile(file, `${JSON.stringify({ version: VERSION, [name]: sorted }, null, 2)}\n`, mode & 0o777);
}

/** The file may have come with the folder, so links and pipes are refused: a link could expose or overwrite a file, a pipe would block. */
async function textOf(file: string): Promise<string> {
  if ((await lstat(file)).isSymbolicLink()) throw new TypeError('there is a link in its place');
  return (await readRegularFile(file, LARGEST)).toString();
}
