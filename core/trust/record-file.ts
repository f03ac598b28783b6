import path from 'node:path';
import { messageOf, PithError } from '../contract/index.ts';
import { systemCure, type StateFolder } from '@pith/safe-files';
import { exclusivelyNow } from '@pith/folder-changes';
import { isPlainMap } from '@pith/plain-data';
import { sizeText } from '@pith/plain-text';
import { systemClock } from '@pith/promises';

/** A JSON file with a person's decisions and the version of its format, which only its owner may read. */
export interface RecordFile<T> {
  /** Absolute; null where there is no home folder. */
  readonly file: string | null;
  /** The current record; `nothing` while the file cannot be read. */
  read(): T;
  /** Another one after each change of the file. */
  version(): string;
  /** Why the file cannot be read; null when it can, or is absent. */
  problem(): string | null;
  /** Changes the record under a lock; durable when it returns. Throws where the file is unreadable, and leaves it alone. */
  change(change: (record: T) => T): void;
}

const MOST_BYTES = 4 * 1024 * 1024;

/** Of the format of each of these files. A file without a version has the first. Raise it when an older Pith would misread a file. */
const VERSION = 1;

interface RecordFileOptions<T extends object> {
  readonly name: string;
  /** The record of a file that is absent, or cannot be read. */
  readonly nothing: T;
  /** Throws where the file is damaged. */
  parse(value: unknown): T;
  /** The record as the file has it; default: as it is. */
  format?(record: T): object;
  /** What a change that fails throws; default `trust_failed`. */
  readonly failure?: { readonly code: string; readonly message: string };
}

const FAILURE = { code: 'trust_failed', message: 'nothing was recorded' };

/** `folder` null: nothing can be recorded. */
export function openRecordFile<T extends object>(
  folder: StateFolder | null,
  { name, nothing, parse, format = (record) => record, failure = FAILURE }: RecordFileOptions<T>,
): RecordFile<T> {
  if (folder === null) return { file: null, read: () => nothing, version: () => '', problem: () => null, change: refuse };
  const file = path.join(folder.path, name);
  let known: { readonly stamp: string; readonly record: T; readonly problem: string | null } | null = null;
  const look = () => {
    try {
      const stamp = folder.stamp(name);
      if (known?.stamp !== stamp) {
        const bytes = folder.read(name, MOST_BYTES);
        known = { stamp, record: bytes === null ? nothing : parse(recordIn(bytes)), problem: null };
      }
      return known;
    } catch (error) {
      return { stamp: '', record: nothing, problem: `${file} cannot be read: ${messageOf(error)}` };
    }
  };
  return {
    file,
    read: () => look().record,
    version: () => look().stamp,
    problem: () => look().problem,
    change(change) {
      try {
        withFileLock(folder, name, () => {
          const { record, problem } = look();
          if (problem !== null) throw new Error(problem);
          const text = `${JSON.stringify({ version: VERSION, ...format(change(record)) }, null, 2)}\n`;
          if (Buffer.byteLength(text) > MOST_BYTES)
            throw new PithError(failure.code, `it would have more than ${sizeText(MOST_BYTES)}`, { cure: 'give less' }); // nobody could read it again
          folder.writeNow(name, text);
        });
      } catch (error) {
        const { cure: said, where = file } = error instanceof PithError ? error : ({} as Partial<PithError>);
        const cure =
          said ??
          (look().problem === null
            ? (systemCure(error, folder.path) ?? `make ${folder.path} writable`)
            : 'make the file readable or correct it, or move it away');
        throw new PithError(failure.code, `${failure.message}: ${messageOf(error)}`, { where, cure, cause: error });
      }
      known = null;
    },
  };
}

/** Without its version. Throws where a newer Pith wrote it: what it does not know it would drop. */
function recordIn(bytes: Buffer): unknown {
  const read = jsonIn(bytes);
  if (!isPlainMap(read) || typeof read['version'] !== 'number') return read; // a secret may be named so
  const { version, ...record } = read;
  if (version > VERSION) throw new Error(`it has version ${version}, and this Pith knows ${VERSION}; use the newer Pith that wrote it`);
  return record;
}

/** The reason never quotes the text, which may be secret. */
function jsonIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new Error('it is not JSON', { cause: error });
  }
}

function refuse(): never {
  throw new PithError('trust_failed', 'nothing was recorded: there is no home folder', {
    cure: 'set HOME, or use --trust for one process',
  });
}

/** Runs `run` while no other process changes the file `name` of the folder, so that no decision is lost. */
function withFileLock(folder: StateFolder, name: string, run: () => void): void {
  const busy = (where: string) =>
    new PithError('trust_failed', 'another Pith has the lock', { where, cure: 'try again; if no Pith runs, remove that folder' });
  exclusivelyNow({ folder, name: `${name}.lock`, busy }, systemClock, run);
}
