import { existsSync } from 'node:fs';
import path from 'node:path';
import type { FSWatcher } from 'chokidar';
import type { Clock } from '../../contract/index.ts';

export interface WatchOptions {
  readonly clock: Clock;
  /** Folders of extensions and agents, and of reload requests. */
  readonly folders: readonly string[];
  /** Looks again; never rejects. */
  look(): Promise<unknown>;
}

export const POLL_MS = 5000;
/** An editor writes several files at once. */
const SETTLE_MS = 30;
const DEEPEST = 4;
/** A process that only answers once has ended by then: it never pays for a watcher. */
const HINTS_AFTER_MS = 500;

/** Looks soon after a folder changed, as far as the system tells, and every five seconds. Returns its off. */
export function watchFolders({ clock, folders, look }: WatchOptions): () => Promise<void> {
  let stopped = false;
  let cancelHint: (() => void) | undefined;
  let cancelPoll: (() => void) | undefined;

  const poll = (): void => {
    if (stopped) return;
    cancelPoll = clock.after(POLL_MS, () => void look().then(poll, poll));
  };
  const hint = (): void => {
    cancelHint ??= clock.after(SETTLE_MS, () => {
      cancelHint = undefined;
      void look();
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
    watcher.on('ready', hint); // what changed before the watcher stood
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
