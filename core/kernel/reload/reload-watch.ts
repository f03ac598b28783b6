import path from 'node:path';
import { existsSync } from 'node:fs';
import type { FSWatcher } from 'chokidar';
import { type Clock, messageOf } from '../../contract/index.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Refresh } from './refresh.ts';
import { randomUUID } from 'node:crypto';
import { stateFolder, type StateFolder } from '@pith/safe-files';

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
  let watching: (() => Promise<void>) | undefined;
  const open = (): ReloadRequests => (requests ??= openReloadRequests(places.dataDirectory));

  async function look(polls: boolean): Promise<void> {
    try {
      await (
        await refresh.look(polls)
      ).settled;
      await Promise.all(
        open()
          .take()
          .map((id) => refresh.reloadByHand(id)),
      );
    } catch (error) {
      logger.error('the folders could not be read again', { reason: messageOf(error) });
    }
  }

  return {
    async begin() {
      watching ??= watchFolders(clock, [...watched, open().folder], look);
    },
    async ask(extensionId) {
      try {
        await open().ask(extensionId);
      } catch (error) {
        logger.warn('other processes could not be asked to reload', { extensionId, reason: messageOf(error) });
      }
    },
    close: async () => watching?.(),
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

const POLL_MS = 5000;
/** An editor writes several files at once. */
const SETTLE_MS = 30;
const DEEPEST = 4;
/** A process that only answers once has ended by then: it never pays for a watcher. */
const HINTS_AFTER_MS = 500;

/** Looks soon after a folder changed, as far as the system tells, and every five seconds. Returns its off. */
function watchFolders(clock: Clock, folders: readonly string[], look: (polls: boolean) => Promise<void>): () => Promise<void> {
  let stopped = false;
  let cancelHint: (() => void) | undefined;
  let cancelPoll: (() => void) | undefined;

  const poll = (): void => {
    if (stopped) return;
    cancelPoll = clock.after(POLL_MS, () => void look(true).then(poll, poll));
  };
  const hint = (): void => {
    cancelHint ??= clock.after(SETTLE_MS, () => {
      cancelHint = undefined;
      void look(false);
    });
  };
  let watcher: FSWatcher | undefined;
  const beginHints = async (): Promise<void> => {
    const { watch } = await import('chokidar');
    if (stopped) return;
    watcher = watch(
      folders.filter((folder) => existsSync(folder)),
      {
        ignoreInitial: true,
        followSymlinks: false,
        depth: DEEPEST,
        ignored: (file) => /^(?:node_modules|data|\..+)$/.test(path.basename(file)) && !folders.includes(file),
      },
    );
    watcher.on('all', hint);
    watcher.on('ready', hint); // what changed before the watcher was ready
    watcher.on('error', () => undefined); // a hint only: too many files or no inotify leave the poll
  };
  const cancelHints = clock.after(HINTS_AFTER_MS, () => void beginHints().catch(() => undefined)); // the poll goes on without
  poll();
  return async () => {
    stopped = true;
    cancelHints();
    cancelHint?.();
    cancelPoll?.();
    await watcher?.close();
  };
}
