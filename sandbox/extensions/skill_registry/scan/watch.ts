import { setImmediate as breathe } from 'node:timers/promises';
import type { Clock, Logger } from 'pith';

/** The folders of one source, its own first. */
export interface FolderGroup {
  readonly root: string;
  readonly folders: readonly string[];
  /** Nothing outside of them changes what is known of them. */
  readonly isTold: boolean;
}

export interface WatchOptions {
  /** The folders whose entries matter, now. The same groups as long as they are the same folders. */
  readonly groups: () => readonly FolderGroup[];
  /** Looks at these folders, or at all. Resolves to those of skills that had changed. */
  readonly look: (folders: readonly string[] | null) => Promise<readonly string[]>;
  /** 0 switches polling off; hints still come. */
  readonly pollSeconds: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Starts the hints; tests replace it. */
  readonly startHint?: StartHint;
}

/** Something that says early which folder changed. */
export interface Hint {
  /** Watches exactly these folders from now on. Resolves to those that it begins with: what changed in them before is to be looked for. */
  cover(groups: readonly FolderGroup[]): Promise<readonly string[]>;
  /** The folders in which something may change that it does not tell. */
  readonly unsure: readonly string[];
  isSure(folder: string): boolean;
  /** It did not tell a change in that folder. */
  distrust(folder: string): void;
  close(): Promise<void>;
}

/** `onFull` is called when no further folder can be watched. */
export type StartHint = (onChange: (folder: string) => void, onFull: (error: unknown) => void) => Promise<Hint>;

/** So many folders whose changes are told are looked at by each poll all the same, in turns. */
export const SHARE = 500;
/** More hints at once than this, and the system may have dropped some: everything is looked at. */
const BURST = 1000;
/** A file may be half written when its first change is told; what follows shortly is one change with it. */
const GATHER_MS = 2;
/** The least time between two looks that hints bring forward, and the share of the time that such looks may take. */
const PAUSE_MS = 20;
const REST = 4;
/** A scan may have met a file half written. */
const SETTLE_MS = 250;
/** A process that only answers once has ended by then: it never pays for a watcher. */
const HINTS_AFTER_MS = 500;

/** Looks again until it is stopped. What a hint is sure to tell is looked at when it tells it; everything else at every poll. */
export class SourceWatch {
  readonly #options: WatchOptions;
  readonly #wake = new Wake();
  #hint: Hint | null = null;
  #hinted = new Set<string>();
  /** All that was told since the look before. */
  #told = new Set<string>();
  #toldBefore = new Set<string>();
  #missed: readonly string[] = [];
  #round = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Runs until `signal` aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, pollSeconds, startHint } = this.#options;
    await this.#look(null);
    try {
      if (startHint === undefined) await clock.sleep(HINTS_AFTER_MS, signal);
      const start = startHint ?? (await import('./folder-watch.ts')).startFolderWatch;
      this.#hint = await start(
        (folder) => this.#tell(folder),
        once((error) => this.#say('not every folder of skills can be watched', error)),
      );
      await this.#cover();
    } catch (error) {
      if (!signal.aborted) this.#say('folders of skills cannot be watched', error);
    }
    signal.addEventListener('abort', () => this.#wake.now(), { once: true });
    let cancel = noop;
    while (!signal.aborted) {
      const polled = !(await this.#wake.within(clock, pollSeconds * 1000, signal));
      if (signal.aborted) break;
      if (!polled) await clock.sleep(GATHER_MS, signal).catch(noop);
      const hinted = this.#hinted.size > 0;
      const from = clock.now();
      this.#proveTold();
      const changed = await this.#look(polled ? this.#roundOf() : this.#take());
      await this.#cover();
      this.#missed = changed.filter((folder) => this.#hint?.isSure(folder) === true && !this.#wasTold(folder));
      if (hinted) {
        cancel();
        cancel = clock.after(SETTLE_MS, () => this.#wake.now());
      }
      if (!polled) await clock.sleep(Math.max(PAUSE_MS, (clock.now() - from) * REST), signal).catch(noop);
    }
    cancel();
    const hint = this.#hint;
    this.#hint = null;
    await hint?.close();
  }

  /** What has to be looked at so that all that has happened by now is seen: folders, or null for everything. */
  async untold(): Promise<readonly string[] | null> {
    if (this.#hint === null) return null;
    const hinted = await this.told();
    const hint = this.#hint as Hint | null;
    return hint === null || hinted === null ? null : [...hinted, ...hint.unsure];
  }

  /** What has been told by now and not been looked at; null for too much to name. */
  async told(): Promise<readonly string[] | null> {
    if (this.#hint === null) return [];
    await breathe();
    await breathe(); // by now the loop has taken from the system what was told before the call
    return this.#take();
  }

  #tell(folder: string): void {
    this.#hinted.add(folder);
    this.#told.add(folder);
    this.#wake.now();
  }

  #take(): readonly string[] | null {
    const hinted = this.#hinted;
    this.#hinted = new Set();
    return this.#hint === null || hinted.size > BURST ? null : [...hinted];
  }

  /** What a poll looks at. */
  #roundOf(): readonly string[] | null {
    const hinted = this.#take();
    if (this.#hint === null || hinted === null) return null;
    const { unsure } = this.#hint;
    const groups = this.#options.groups();
    const folders = groups.flatMap((group) => group.folders);
    if (unsure.length * 2 > folders.length) return null;
    if (this.#round >= folders.length) this.#round = 0;
    const share = folders.slice(this.#round, this.#round + SHARE);
    this.#round += SHARE;
    return [...new Set([...groups.map(({ root }) => root), ...hinted, ...unsure, ...share])];
  }

  /** A change that a poll found has been told by now, or such changes are not told. */
  #proveTold(): void {
    for (const folder of this.#missed) if (!this.#wasTold(folder)) this.#hint?.distrust(folder);
    this.#missed = [];
    this.#toldBefore = this.#told;
    this.#told = new Set(this.#hinted);
  }

  #wasTold(folder: string): boolean {
    return this.#told.has(folder) || this.#toldBefore.has(folder);
  }

  async #cover(): Promise<void> {
    const added = (await this.#hint?.cover(this.#options.groups())) ?? [];
    for (const folder of added) this.#hinted.add(folder);
    if (added.length > 0) this.#wake.now();
  }

  async #look(folders: readonly string[] | null): Promise<readonly string[]> {
    const { look, logger } = this.#options;
    try {
      return await look(folders);
    } catch (error) {
      for (const folder of folders ?? []) this.#hinted.add(folder);
      logger.warn(`skills could not be rescanned: ${String(error)}`);
      return [];
    }
  }

  #say(what: string, error: unknown): void {
    const { logger, pollSeconds } = this.#options;
    logger.warn(`${what} (${String(error)}); changes are seen ${pollSeconds > 0 ? `every ${pollSeconds} s` : 'before a turn'}`);
  }
}

/** A flag that can be waited for. */
class Wake {
  private set = false;
  private resolve: (() => void) | null = null;

  now(): void {
    this.set = true;
    this.resolve?.();
  }

  /** True when it was set before `ms` passed; 0 is for ever. Resets it. */
  async within(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
    const sleeper = new AbortController();
    const waited = this.set ? Promise.resolve() : new Promise<void>((resolve) => (this.resolve = resolve));
    const poll = ms > 0 ? [clock.sleep(ms, AbortSignal.any([signal, sleeper.signal])).catch(noop)] : [];
    await Promise.race([waited, ...poll]);
    sleeper.abort();
    const was = this.set;
    this.set = false;
    this.resolve = null;
    return was;
  }
}

function once(run: (error: unknown) => void): (error: unknown) => void {
  let done = false;
  return (error) => {
    if (!done) run(error);
    done = true;
  };
}

function noop(): void {}
