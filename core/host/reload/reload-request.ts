import { randomUUID } from 'node:crypto';
import { stateFolder, type StateFolder } from '../../contract/state-files.ts';

/** Reloads that a person asked for in another terminal: a file for each extension, named for it, written anew for each request. */
export interface ReloadRequests {
  /** Ids whose files were written since the last call, or since this was made; without those that this process wrote. */
  take(): readonly string[];
  /** Asks the other kernels of this sandbox. */
  ask(extensionId: string): Promise<void>;
  readonly folder: string;
}

export function openReloadRequests(dataDirectory: string): ReloadRequests {
  const folder = stateFolder(dataDirectory, '.cache', 'reload');
  const own = randomUUID();
  const seen = stamps(folder);
  return {
    folder: folder.path,
    take() {
      const ids: string[] = [];
      for (const [id, stamp] of stamps(folder)) {
        if (seen.get(id) === stamp) continue;
        seen.set(id, stamp);
        if (authorOf(folder, id) !== own) ids.push(id);
      }
      return ids;
    },
    ask: (extensionId) => folder.write(extensionId, `${own} ${randomUUID()}`, { durable: false }),
  };
}

function stamps(folder: StateFolder): Map<string, string> {
  try {
    return new Map(folder.list().map((name) => [name, folder.stamp(name)]));
  } catch {
    return new Map(); // a link leads elsewhere: nobody has asked here
  }
}

function authorOf(folder: StateFolder, id: string): string {
  try {
    return String(folder.read(id, LONGEST) ?? '').split(' ')[0] ?? '';
  } catch {
    return ''; // no file of ours
  }
}

const LONGEST = 1024;
