import { PithError } from '../contract/index.ts';
import { isPlainMap } from '@pith/plain-data';
import path from 'node:path';
import { openRecordFile, type RecordFile } from './record-file.ts';
import { realpathSync } from 'node:fs';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import os from 'node:os';

/** A person's decisions. Plain data. */
export interface TrustRecord {
  /** By the real path of a sandbox; false: the person was asked and said no. */
  readonly sandboxes: Readonly<Record<string, boolean>>;
  /** By sandbox and extension: the granted requests of its manifest. */
  readonly grants: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** By the real path of a trusted sandbox: the project's files that the person was shown with it. */
  readonly projectFiles: Readonly<Record<string, readonly string[]>>;
  /**
   * By the real path of a project without a sandbox, or of a project that a person named: its files that they were shown; false: they said
   * no.
   */
  readonly projects: Readonly<Record<string, readonly string[] | false>>;
  /** Data folders of unknown origin that the person was asked about and did not claim. */
  readonly foreignState: readonly string[];
}

/** `~/.pith/trust.json`. Nothing is trusted while it cannot be read. */
export type TrustFile = RecordFile<TrustRecord>;

const NAME = 'trust.json';
const NOTHING: TrustRecord = { sandboxes: {}, grants: {}, projectFiles: {}, projects: {}, foreignState: [] };

export function openTrustFile(home: string | null): TrustFile {
  return openRecordFile(home === null ? null : pithFolder(home), { name: NAME, nothing: NOTHING, parse });
}

function parse(read: unknown): TrustRecord {
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

/** `~/.pith`, the folder of a person's decisions. The person may have made it a link. */
export function pithFolder(home: string): StateFolder {
  const folder = path.join(home, '.pith');
  try {
    return stateFolder(realpathSync(folder));
  } catch {
    return stateFolder(folder); // it is created with the first write
  }
}

/** The user's home folder, absolute. An empty or relative HOME is refused, since it would mean a folder of whatever is opened. */
export function userHome(): string {
  try {
    const home = os.homedir();
    return path.isAbsolute(home) ? home : os.userInfo().homedir;
  } catch {
    throw new PithError('state_refused', 'this user has no home folder', { cure: 'set HOME' }); // as in a container, without an entry in /etc/passwd
  }
}
