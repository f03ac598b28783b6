import { stateFolder, type StateFolder } from '@pith/safe-files';
import { isPlainMap } from './plain-data.ts';

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
    folder.writeNow(FILE, `${JSON.stringify({ entries }, null, 2)}\n`);
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

function readEntries(folder: StateFolder): readonly Quarantined[] {
  try {
    const read: unknown = JSON.parse(String(folder.read(FILE) ?? '{}'));
    const list: unknown = isPlainMap(read) ? read['entries'] : [];
    return Array.isArray(list) ? list.filter(isEntry) : [];
  } catch {
    return []; // damaged by hand, or no file of ours: then nothing is left out
  }
}

function isEntry(value: unknown): value is Quarantined {
  return isPlainMap(value) && ['id', 'digest', 'reason'].every((key) => typeof value[key] === 'string') && typeof value['at'] === 'number';
}
