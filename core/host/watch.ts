import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../contract/index.ts';

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

/** Looks soon after a folder changed, as far as the system tells, and every five seconds. Returns its off. */
export async function watchFolders({ clock, folders, look }: WatchOptions): Promise<() => Promise<void>> {
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
  const { watch } = await import('chokidar');
  const watcher = watch(
    folders.filter((folder) => existsSync(folder)),
    {
      ignoreInitial: true,
      followSymlinks: false,
      depth: DEEPEST,
      ignored: (file) => /^(?:node_modules|data|\..+)$/.test(path.basename(file)) && !folders.includes(file),
    },
  );
  watcher.on('all', hint);
  watcher.on('error', () => undefined); // a hint only: too many files or no inotify leave the poll
  poll();
  return async () => {
    stopped = true;
    cancelHint?.();
    cancelPoll?.();
    await watcher.close();
  };
}
