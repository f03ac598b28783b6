import { readFileSync, watch, type FSWatcher } from 'node:fs';
import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** Something that says early that a folder changed. It may miss changes: looking at all of them does not. */
export interface FolderHint {
  /** Watches exactly these folders from now on. True when it began with any: what changed in them before is to be looked for. */
  cover(folders: ReadonlySet<string>): Promise<boolean>;
  close(): void;
}

/** `onFull` is called when no further folder can be watched. */
export type StartHint = (onHint: () => void, onFull: (error: unknown) => void) => FolderHint;

/** No more folders than this are watched. */
const FOLDER_LIMIT = 24_000;
/** Folders that are begun with between two yields. */
const SLICE = 250;
/** Codes of a system that grants no further watch. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EMFILE', 'ENFILE', 'ENOMEM', 'ENOSYS']);

/** Watches folders one by one, never what is below them: what comes and goes in them, and edits of the files that `isRead` names. */
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
        if (isItself) drop(folder); // the watch may no longer be on the folder of that name
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
            covered = null; // tried again next time
            if (!REFUSALS.has((error as NodeJS.ErrnoException).code)) continue; // gone since it was found, or not readable: who looks sees it
            onFull(error);
            break; // there may be room when it is called again
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

/** Other programs of the same user need watches too. */
function watchLimit(): number {
  try {
    return Math.min(FOLDER_LIMIT, Math.floor(Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8')) / 2)) || FOLDER_LIMIT;
  } catch {
    return FOLDER_LIMIT; // no such limit here
  }
}
