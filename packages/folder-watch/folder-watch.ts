import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Timing } from '@pith/promises';
import { type FolderHint, type StartHint, systemHint } from './folder-hint.ts';

export interface FolderWatchOptions {
  /** The folders whose entries matter, now. */
  readonly folders: () => ReadonlySet<string>;
  readonly look: () => Promise<unknown>;
  /** Whether a file of that name is read: edits of others are no change. */
  readonly isRead: (name: string) => boolean;
  /** 0 switches polling off; hints still come. */
  readonly pollSeconds: number;
  readonly clock: Timing;
  /** A look failed; the next poll looks again. */
  readonly onFailed: (error: unknown) => void;
  /** Called once, when not every folder can be watched: what changes in the others is seen by the poll. */
  readonly onFull: (error: unknown) => void;
  /** Starts the hints; tests replace it. */
  readonly startHint?: StartHint;
}

/** Changes that follow each other closely are one: a file may be half written when the first is hinted at. */
const GATHER_MS = 10;
/** The least time between two looks that hints bring forward, and the share of the time that such looks may take. */
const PAUSE_MS = 20;
const REST = 4;
/** A poll comes no sooner than so many times what the last look took: 10,000 folders cost about a hundredth of a core. */
const POLL_REST = 100;
/** A process that only answers once has ended by then: it never pays for a watcher. */
const HINTS_AFTER_MS = 500;

/** Looks at everything at every poll until it is stopped, and sooner when a folder is said to have changed. */
export class FolderWatch {
  #hint: FolderHint | null = null;
  /** There was a hint that nobody has followed. */
  #hinted = false;
  /** There was a hint since the folders to watch were looked up. */
  #woken = false;
  #complained = false;
  #tookMs = 0;
  #wake = noop;

  constructor(private readonly options: FolderWatchOptions) {}

  /** Runs until `signal` aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, isRead, startHint } = this.options;
    await this.#look();
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
      if (this.#take() || !woken) await this.#look(); // who asks by `takeHint` may have looked by now
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

  async #look(): Promise<void> {
    try {
      await this.options.look();
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
