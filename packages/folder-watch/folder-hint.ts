import { readFileSync, watch, type FSWatcher } from 'node:fs';
import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** Reports changed folders early. It may miss changes; only a scan finds all. */
export interface FolderHint {
  /** Watches exactly these folders from now on. True when it began to watch any: the caller must scan for earlier changes. */
  cover(folders: ReadonlySet<string>): Promise<boolean>;
  close(): void;
}

/** `onFull` is called when no further folder can be watched. */
export type StartHint = (onHint: () => void, onFull: (error: unknown) => void) => FolderHint;

/** The most folders that are watched. */
const FOLDER_LIMIT = 24_000;
/** How many watches are started between two yields. */
const SLICE = 250;
/** The error codes of a system that grants no further watch. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EMFILE', 'ENFILE', 'ENOMEM', 'ENOSYS']);

/** Watches single folders, not what is below them. Reports entries that come and go, and edits of files that `isRead` accepts. */
export function systemHint(isRead: (name: string) => boolean): StartHint {
  return (onHint, onFull) => {
    const watchers = new Map<string, FSWatcher>();
    const limit = watchLimit();
    let covered: ReadonlySet<string> | null = null;
    const drop = (folder: string): void => {
      covered = null;
      watchers.get(folder)?.close();
      watchers.delete(folder);
    };
    const begin = (folder: string): void => {
      if (watchers.size >= limit) throw Object.assign(new Error(`more than ${limit} folders`), { code: 'ENOSPC' });
      const watcher = watch(folder, { persistent: false }, (kind, name) => {
        const isItself = name === null || name === folder.slice(folder.lastIndexOf('/') + 1);
        if (isItself) drop(folder); // the watch may now be on a folder that no longer has this name
        if (isItself || kind === 'rename' || isRead(name)) onHint();
      });
      watcher.on('error', () => drop(folder));
      watchers.set(folder, watcher);
    };
    return {
      async cover(folders) {
        if (folders === covered) return false;
        covered = folders;
        for (const folder of watchers.keys()) if (!folders.has(folder)) drop(folder);
        let begun = 0;
        for (const folder of folders) {
          if (watchers.has(folder)) continue;
          try {
            begin(folder);
            if (++begun % SLICE === 0) await yieldToOthers();
          } catch (error) {
            covered = null; // the next call tries again
            if (!REFUSALS.has((error as NodeJS.ErrnoException).code)) continue; // gone since it was found, or not readable: the scan reports that
            onFull(error);
            break; // the next call may find room
          }
        }
        return begun > 0;
      },
      close() {
        for (const folder of watchers.keys()) drop(folder);
      },
    };
  };
}

/** The share of the system's watches to use, since other programs of the user need some too. */
function watchLimit(): number {
  try {
    return Math.min(FOLDER_LIMIT, Math.floor(Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8')) / 2)) || FOLDER_LIMIT;
  } catch {
    return FOLDER_LIMIT; // this system has no such limit
  }
}
