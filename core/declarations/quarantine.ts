import { stateFolder, type StateFolder } from '@pith/safe-files';
import { fieldsOf, isPlainMap } from '@pith/plain-data';
import { statSync } from 'node:fs';
import path from 'node:path';
import type { Declaration } from './declaration.ts';
import { stampFolder } from './source-files.ts';

/** A version of an extension that is not started, because the kernel crashed with it. */
export interface Quarantined {
  readonly id: string;
  /** Of its sources: an edit lifts it. */
  readonly digest: string;
  readonly reason: string;
  readonly at: number;
}

/** What a supervisor left out. Kept in the data directory, so that every kernel of the sandbox leaves it out, until it is edited or reloaded by hand. */
export interface Quarantine {
  /** null: nothing speaks against it. */
  of(id: string, digest: string): Quarantined | null;
  add(entries: readonly Quarantined[]): void;
  /** False when it was not there. */
  lift(id: string): boolean;
}

export function quarantineIn(dataDirectory: string): Quarantine {
  const folder = stateFolder(dataDirectory);
  let entries = readEntries(folder);
  const write = (next: readonly Quarantined[]): void => {
    entries = next;
    writePart(folder, FILE, { entries });
  };
  return {
    of: (id, digest) => entries.find((entry) => entry.id === id && entry.digest === digest) ?? null,
    add(more) {
      const ids = new Set(more.map(({ id }) => id));
      write([...readEntries(folder).filter(({ id }) => !ids.has(id)), ...more]);
    },
    lift(id) {
      if (!entries.some((entry) => entry.id === id)) return false;
      write(readEntries(folder).filter((entry) => entry.id !== id));
      return true;
    },
  };
}

const FILE = 'quarantine.json';

/** Damaged by hand, or no file of ours: then nothing is left out. */
function readEntries(folder: StateFolder): readonly Quarantined[] {
  const list = readPart(folder, FILE, 'entries');
  return Array.isArray(list) ? list.filter(isEntry) : [];
}

/** Of the format of both files. A file without a version has the first. Raise it when an older Pith would misread a file. */
const VERSION = 1;

/** undefined: there is none, or the file is damaged or of a newer Pith. */
function readPart(folder: StateFolder, file: string, name: string): unknown {
  try {
    const { version = VERSION, [name]: part } = fieldsOf(JSON.parse(String(folder.read(file) ?? '{}')));
    return version === VERSION ? part : undefined;
  } catch {
    return undefined; // damaged
  }
}

function writePart(folder: StateFolder, file: string, parts: object): void {
  folder.writeNow(file, `${JSON.stringify({ version: VERSION, ...parts }, null, 2)}\n`);
}

function isEntry(value: unknown): value is Quarantined {
  return isPlainMap(value) && ['id', 'digest', 'reason'].every((key) => typeof value[key] === 'string') && typeof value['at'] === 'number';
}

/** Ids of extensions and the digests of their sources. */
type Digests = Readonly<Record<string, string>>;

/** A version that was not there at the last good start. */
export interface ChangedExtension {
  readonly id: string;
  readonly digest: string;
  /** When a file of it was last written. */
  readonly changedAt: number;
}

/** The last set of extensions with which the kernel ran well for a while. What ships with Pith is no part of it. */
export interface LastGood {
  /** What is not as it was then; everything, where there never was a good start. */
  changed(): readonly ChangedExtension[];
  /** Keeps the set of now when it is the same as at the last call, or at the beginning. */
  recordIfSteady(): void;
}

/** `declarations`: of the extensions that may run, as the folders have them now. */
export function lastGoodIn(dataDirectory: string, declarations: () => readonly Declaration[], now: () => number): LastGood {
  const folder = stateFolder(dataDirectory);
  const own = () => declarations().filter(({ shipped, manifest }) => !shipped && manifest !== null);
  const digests = (): Digests => Object.fromEntries(own().map(({ id, digest }) => [id, digest]));
  let seen = JSON.stringify(digests());
  let recorded = JSON.stringify(readDigests(folder));
  return {
    changed() {
      const good = readDigests(folder);
      return own()
        .filter(({ id, digest }) => good[id] !== digest)
        .map(({ id, digest, directory }) => ({ id, digest, changedAt: newestIn(directory) }));
    },
    recordIfSteady() {
      const extensions = digests();
      const text = JSON.stringify(extensions);
      const steady = text === seen;
      seen = text;
      if (!steady || text === recorded) return;
      writePart(folder, LAST_GOOD, { at: now(), extensions });
      recorded = text;
    },
  };
}

const LAST_GOOD = 'last-good.json';

/** Damaged by hand, or no file of ours: then everything counts as changed. */
function readDigests(folder: StateFolder): Digests {
  return fieldsOf(readPart(folder, LAST_GOOD, 'extensions')) as Digests;
}

function newestIn(directory: string): number {
  const times = stampFolder(directory).files.map((file) => statSync(path.join(directory, file), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(0, ...times);
}
