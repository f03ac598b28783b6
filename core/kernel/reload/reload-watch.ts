import path from 'node:path';
import { FolderWatch } from '@pith/folder-watch';
import { messageOf } from '../../contract/index.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Refresh } from './refresh.ts';
import { randomUUID } from 'node:crypto';
import { entriesOf, stateFolder, type StateFolder } from '@pith/safe-files';

/** Keeps a running kernel in line with its folders and with reloads that are asked for in other processes. */
export interface ReloadWatch {
  /** Looks when a folder changes and every five seconds, until `close`. */
  begin(): Promise<void>;
  /** Asks the other processes; never rejects. */
  ask(extensionId: string): Promise<void>;
  close(): Promise<void>;
}

export function createReloadWatch({ runtime }: Lifecycle, refresh: Refresh, watched: readonly string[]): ReloadWatch {
  const { clock, places } = runtime;
  const logger = runtime.logger('host');
  let requests: ReloadRequests | undefined;
  const end = new AbortController();
  let watching: Promise<void> | undefined;
  const open = (): ReloadRequests => (requests ??= openReloadRequests(places.dataDirectory));

  const failed = (error: unknown): void => logger.error('the folders could not be read again', { reason: messageOf(error) });
  const takeRequests = async (): Promise<void> =>
    void (await Promise.all(
      open()
        .take()
        .map((id) => refresh.reloadByHand(id)),
    ));
  const watch = new FolderWatch({
    folders: () => new Set([...sourceFolders(watched), open().folder]),
    async look(why) {
      if (why === 'start') return; // the boot has looked
      const { settled } = await refresh.look(why === 'poll');
      void settled.then(() => (end.signal.aborted ? undefined : takeRequests())).catch(failed); // what hangs is not waited for
    },
    isRead: () => true,
    pollSeconds: POLL_SECONDS,
    clock,
    onFailed: failed,
    onFull: (error) => logger.debug('not every folder of sources can be watched', { reason: messageOf(error) }), // the poll sees the others
  });

  return {
    async begin() {
      open(); // from now on requests count
      watching ??= watch.run(end.signal).catch(failed);
    },
    async ask(extensionId) {
      try {
        await open().ask(extensionId);
      } catch (error) {
        logger.warn('other processes could not be asked to reload', { extensionId, reason: messageOf(error) });
      }
    },
    async close() {
      end.abort();
      await watching;
    },
  };
}

/** Reloads that a person asked for in another terminal: a file for each extension, named after it, written again for each request. */
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

const POLL_SECONDS = 5;
const DEEPEST = 4;
/** Folders in which nothing is a source. */
const PASSED_OVER = /^(?:node_modules|data|\..+)$/;

/** The folders, and those below them in which sources may be. */
function sourceFolders(roots: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (folder: string, depth: number): void => {
    found.add(folder);
    if (depth === DEEPEST) return;
    for (const entry of entriesOf(folder))
      if (entry.isDirectory() && !PASSED_OVER.test(entry.name)) add(path.join(folder, entry.name), depth + 1);
  };
  for (const root of roots) add(root, 0);
  return found;
}
