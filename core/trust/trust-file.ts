import { isPlainMap } from '@pith/plain-data';
import path from 'node:path';
import { messageOf, PithError } from '../contract/index.ts';
import { alone } from './alone.ts';
import { realpathSync } from 'node:fs';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import os from 'node:os';

/** What a person decided. Plain data. */
export interface TrustRecord {
  /** By the real path of a sandbox; false: the person was asked and said no. */
  readonly sandboxes: Readonly<Record<string, boolean>>;
  /** By sandbox and extension: what its manifest may have of what it asks for. */
  readonly grants: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** By the real path of a trusted sandbox: which files of the project the person was shown with it. */
  readonly projectFiles: Readonly<Record<string, readonly string[]>>;
  /** By the real path of a project without a sandbox, or that a person named: its files that they were shown; false: they said no. */
  readonly projects: Readonly<Record<string, readonly string[] | false>>;
  /** Data folders of unknown origin that the person was asked about and did not take. */
  readonly foreignState: readonly string[];
}

/** `~/.pith/trust.json`, which only its owner may read. */
export interface TrustFile {
  /** null where there is no home folder. */
  readonly file: string | null;
  /** As it is now. Nothing is trusted while it cannot be read. */
  read(): TrustRecord;
  /** Why it cannot be read; null when it can, or is not there. */
  problem(): string | null;
  /** Durable when it returns. Throws `trust_failed` where it cannot be read or written: what stands in it is not lost. */
  change(change: (record: TrustRecord) => TrustRecord): void;
}

const NAME = 'trust.json';
const NOTHING: TrustRecord = { sandboxes: {}, grants: {}, projectFiles: {}, projects: {}, foreignState: [] };
const MOST_BYTES = 4 * 1024 * 1024;

export function openTrustFile(home: string | null): TrustFile {
  if (home === null) return { file: null, read: () => NOTHING, problem: () => null, change: refuse };
  const folder = pithFolder(home);
  const file = path.join(folder.path, NAME);
  let known: { readonly stamp: string; readonly record: TrustRecord; readonly problem: string | null } | null = null;
  const look = () => {
    try {
      const stamp = folder.stamp(NAME);
      if (known?.stamp !== stamp) known = { stamp, record: parse(folder.read(NAME, MOST_BYTES)), problem: null };
      return known;
    } catch (error) {
      return { stamp: '', record: NOTHING, problem: `${file} cannot be read: ${messageOf(error)}` };
    }
  };
  return {
    file,
    read: () => look().record,
    problem: () => look().problem,
    change(change) {
      try {
        folder.make();
        alone(`${file}.lock`, () => {
          const { record, problem } = look();
          if (problem !== null) throw new Error(problem);
          folder.writeNow(NAME, `${JSON.stringify(change(record), null, 2)}\n`);
        });
      } catch (error) {
        const { cure: known, where = file } = error instanceof PithError ? error : ({} as Partial<PithError>);
        const cure =
          known ?? (look().problem === null ? `make ${folder.path} writable` : 'make the file readable or correct it, or move it away');
        throw new PithError('trust_failed', `nothing was recorded: ${messageOf(error)}`, { where, cure, cause: error });
      }
      known = null;
    },
  };
}

function refuse(): never {
  throw new PithError('trust_failed', 'nothing was recorded: there is no home folder', {
    cure: 'set HOME, or use --trust for one process',
  });
}

function parse(bytes: Buffer | null): TrustRecord {
  if (bytes === null) return NOTHING;
  const read: unknown = JSON.parse(bytes.toString('utf8'));
  if (!isPlainMap(read)) throw new Error('it is not a map');
  return {
    sandboxes: entriesOf(read['sandboxes'], (value) => (typeof value === 'boolean' ? value : undefined)),
    grants: entriesOf(read['grants'], (value) => (isPlainMap(value) ? entriesOf(value, textsOf) : undefined)),
    projectFiles: entriesOf(read['projectFiles'], textsOf),
    projects: entriesOf(read['projects'], (value) => (value === false ? false : textsOf(value))),
    foreignState: textsOf(read['foreignState']) ?? [],
  };
}

function entriesOf<T>(value: unknown, take: (value: unknown) => T | undefined): Readonly<Record<string, T>> {
  if (!isPlainMap(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => {
      const taken = take(each);
      return taken === undefined ? [] : [[key, taken]];
    }),
  );
}

function textsOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : undefined;
}

/** `~/.pith`, where what a person decided is kept. The person may have made it a link. */
export function pithFolder(home: string): StateFolder {
  const folder = path.join(home, '.pith');
  try {
    return stateFolder(realpathSync(folder));
  } catch {
    return stateFolder(folder); // it is made when something is written
  }
}

/** The user's home folder, absolute: where HOME is empty or relative, it would be a folder of whatever is opened. */
export function userHome(): string {
  const home = os.homedir();
  return path.isAbsolute(home) ? home : os.userInfo().homedir;
}
