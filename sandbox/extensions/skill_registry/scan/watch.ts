import { readFileSync, watch, type FSWatcher } from 'node:fs';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Clock, Logger } from 'pith';

export interface WatchOptions {
  /** The folders whose entries matter, now. */
  readonly folders: () => ReadonlySet<string>;
  readonly look: () => Promise<unknown>;
  /** 0 switches polling off; hints still come. */
  readonly pollSeconds: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Starts the hints; tests replace it. */
  readonly startHint?: StartHint;
}

/** Something that says early that a folder changed. It may miss changes: the poll does not. */
export interface FolderHint {
  /** Watches exactly these folders from now on. True when it began with any: what changed in them before is to be looked for. */
  cover(folders: ReadonlySet<string>): Promise<boolean>;
  close(): void;
}

/** `onFull` is called when no further folder can be watched. */
export type StartHint = (onHint: () => void, onFull: (error: unknown) => void) => FolderHint;

/** Changes that follow each other closely are one: a file may be half written when the first is hinted at. */
const GATHER_MS = 10;
/** The least time between two looks that hints bring forward, and the share of the time that such looks may take. */
const PAUSE_MS = 20;
const REST = 4;
/** A poll comes no sooner than so many times what the last look took: 10,000 skills cost about a hundredth of a core. */
const POLL_REST = 100;
/** A process that only answers once has ended by then: it never pays for a watcher. */
const HINTS_AFTER_MS = 500;

/** Looks at everything at every poll until it is stopped, and sooner when a folder is said to have changed. */
export class SourceWatch {
  readonly #options: WatchOptions;
  #hint: FolderHint | null = null;
  /** There was a hint that nobody has followed. */
  #hinted = false;
  /** There was a hint since the folders to watch were looked up. */
  #woken = false;
  #complained = false;
  #tookMs = 0;
  #wake = noop;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Runs until `signal` aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, startHint } = this.#options;
    await this.#look();
    if (startHint === undefined) await clock.sleep(HINTS_AFTER_MS, signal).catch(noop);
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    const hint = (startHint ?? startFolderHint)(
      () => this.#onHint(),
      (error) => this.#complain(error),
    );
    this.#hint = hint;
    if (!signal.aborted) await this.#cover(hint);
    while (!signal.aborted) {
      await this.#hintOrPoll();
      if (signal.aborted) break;
      const woken = this.#woken;
      if (woken) await clock.sleep(GATHER_MS, signal).catch(noop);
      this.#woken = false;
      const from = clock.now();
      if (this.#take() || !woken) await this.#look(); // a turn may have looked by now
      await this.#cover(hint);
      this.#tookMs = clock.now() - from;
      if (woken) await clock.sleep(Math.max(PAUSE_MS, this.#tookMs * REST), signal).catch(noop);
    }
    this.#hint = null;
    hint.close();
  }

  /** Whether there was a hint by now that nobody has followed. Who asks looks. */
  async takeHint(): Promise<boolean> {
    if (this.#hint === null) return false;
    await yieldToOthers();
    await yieldToOthers(); // by now the loop has taken from the system what was hinted at before the call
    return this.#take();
  }

  #onHint(): void {
    this.#hinted = true;
    this.#woken = true;
    this.#wake();
  }

  #take(): boolean {
    const hinted = this.#hinted;
    this.#hinted = false;
    return hinted;
  }

  async #hintOrPoll(): Promise<void> {
    const { clock, pollSeconds } = this.#options;
    if (this.#woken) return;
    let cancel = noop;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (pollSeconds > 0) cancel = clock.after(Math.max(pollSeconds * 1000, this.#tookMs * POLL_REST), resolve);
    });
    cancel();
  }

  async #cover(hint: FolderHint): Promise<void> {
    if (await hint.cover(this.#options.folders())) this.#onHint();
  }

  async #look(): Promise<void> {
    try {
      await this.#options.look();
    } catch (error) {
      this.#options.logger.warn(`skills could not be rescanned: ${String(error)}`);
    }
  }

  #complain(error: unknown): void {
    const { logger, pollSeconds } = this.#options;
    const when = pollSeconds > 0 ? `every ${pollSeconds} s` : 'before a turn';
    if (!this.#complained) logger.warn(`not every folder of skills can be watched (${String(error)}); changes are seen ${when}`);
    this.#complained = true;
  }
}

/** No more folders than this are watched; the rest is left to the poll. */
const FOLDER_LIMIT = 24_000;
/** Folders that are begun with between two yields. */
const SLICE = 250;
/** Codes of a system that grants no further watch. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EMFILE', 'ENFILE', 'ENOMEM', 'ENOSYS']);

/** Watches folders one by one, never what is below them. */
const startFolderHint: StartHint = (onHint, onFull) => {
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
      if (isItself || kind === 'rename' || name.toLowerCase() === 'skill.md') onHint();
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
          if (!REFUSALS.has((error as NodeJS.ErrnoException).code)) continue; // gone since it was found, or not readable: the poll says so
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

/** Other programs of the same user need watches too. */
function watchLimit(): number {
  try {
    return Math.min(FOLDER_LIMIT, Math.floor(Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8')) / 2)) || FOLDER_LIMIT;
  } catch {
    return FOLDER_LIMIT; // no such limit here
  }
}

function noop(): void {}
