import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Timing } from '@pith/promises';
import { type FolderHint, type StartHint, systemHint } from './folder-hint.ts';

/** What a scan follows: the start of the watch, a hint, or the poll alone. */
type Why = 'start' | 'hint' | 'poll';

export interface FolderWatchOptions {
  /** The folders to watch at this moment. */
  readonly folders: () => ReadonlySet<string>;
  readonly look: (why: Why) => Promise<unknown>;
  /** Whether a file of that name is read. Edits of other files do not count as changes. */
  readonly isRead: (name: string) => boolean;
  /** 0 switches polling off; hints still count. */
  readonly pollSeconds: number;
  readonly clock: Timing;
  /** Called when a scan fails; the next poll scans again. */
  readonly onFailed: (error: unknown) => void;
  /** Called once, when not every folder can be watched: only the poll finds changes in the others. */
  readonly onFull: (error: unknown) => void;
  /** Starts the watcher; tests replace it. */
  readonly startHint?: StartHint;
}

/** Waits so long for further hints, since a file may be half written at the first one. */
const GATHER_MS = 10;
/** The least pause between two scans after hints, and the largest share of the time for such scans. */
const PAUSE_MS = 20;
const REST = 4;
/** A poll waits at least this many times the duration of the last scan, so that 10,000 folders cost about a hundredth of a core. */
const POLL_REST = 100;
/** A process that answers once has ended by then, and never pays for a watcher. */
const HINTS_AFTER_MS = 500;

/** Scans at every poll until it is stopped, and sooner after a hint. */
export class FolderWatch {
  #hint: FolderHint | null = null;
  /** A hint that no scan has followed yet. */
  #hinted = false;
  /** A hint came since the folders to watch were determined. */
  #woken = false;
  #complained = false;
  #tookMs = 0;
  #wake = noop;

  constructor(private readonly options: FolderWatchOptions) {}

  /** Runs until `signal` aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, isRead, startHint } = this.options;
    await this.#look('start');
    if (startHint === undefined) await clock.sleep(HINTS_AFTER_MS, signal).catch(noop);
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    const hint = (startHint ?? systemHint(isRead))(
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
      if (this.#take() || !woken) await this.#look(woken ? 'hint' : 'poll'); // a caller of `takeHint` may have scanned by now
      await this.#cover(hint);
      this.#tookMs = clock.now() - from;
      if (woken) await clock.sleep(Math.max(PAUSE_MS, this.#tookMs * REST), signal).catch(noop);
    }
    this.#hint = null;
    hint.close();
  }

  /** Whether a hint is pending, and takes it: the caller must scan. */
  async takeHint(): Promise<boolean> {
    if (this.#hint === null) return false;
    await yieldToOthers();
    await yieldToOthers(); // the event loop has now received all events from before the call
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
    const { clock, pollSeconds } = this.options;
    if (this.#woken) return;
    let cancel = noop;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (pollSeconds > 0) cancel = clock.after(Math.max(pollSeconds * 1000, this.#tookMs * POLL_REST), resolve);
    });
    cancel();
  }

  async #cover(hint: FolderHint): Promise<void> {
    if (await hint.cover(this.options.folders())) this.#onHint();
  }

  async #look(why: Why): Promise<void> {
    try {
      await this.options.look(why);
    } catch (error) {
      this.options.onFailed(error);
    }
  }

  #complain(error: unknown): void {
    if (!this.#complained) this.options.onFull(error);
    this.#complained = true;
  }
}

function noop(): void {}
