import { statSync } from 'node:fs';
import path from 'node:path';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import type { Declaration } from './declaration.ts';
import { isPlainMap } from '../records/plain-data.ts';
import { stampFolder } from './source-files.ts';

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
      folder.writeNow(FILE, `${JSON.stringify({ at: now(), extensions }, null, 2)}\n`);
      recorded = text;
    },
  };
}

const FILE = 'last-good.json';

function readDigests(folder: StateFolder): Digests {
  try {
    const read: unknown = JSON.parse(String(folder.read(FILE) ?? '{}'));
    const found = isPlainMap(read) ? read['extensions'] : {};
    return isPlainMap(found) ? (found as Digests) : {};
  } catch {
    return {}; // damaged by hand, or no file of ours: then everything counts as changed
  }
}

function newestIn(directory: string): number {
  const times = stampFolder(directory).files.map((file) => statSync(path.join(directory, file), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(0, ...times);
}
