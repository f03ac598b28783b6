import type { Clock, Logger } from 'pith';

export interface WatchOptions {
  /** The folders whose entries matter, now. */
  readonly folders: () => readonly string[];
  readonly refresh: () => Promise<unknown>;
  /** 0 switches polling off; hints still come. */
  readonly pollSeconds: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Starts the hints; tests replace it. */
  readonly startHint?: StartHint;
}

/** Something that may say early that a folder changed. */
export interface Hint {
  /** Watches exactly these folders from now on. True when some are new. */
  cover(folders: readonly string[]): boolean;
  close(): Promise<void>;
}

export type StartHint = (onChange: () => void, onFailure: (error: unknown) => void) => Promise<Hint>;

/** No more folders than this are watched; the rest is left to the poll. */
const FOLDER_LIMIT = 2000;
/** What changes in a folder before its watch has begun is seen by one more rescan after this time. */
const SETTLE_MS = 250;
/** The least time between two rescans that hints bring forward. */
const PAUSE_MS = 50;
/** A process that only answers once has ended by then: it never pays for a watcher. */
const HINTS_AFTER_MS = 500;

/** Rescans until `signal` aborts, then resolves. The poll is the authority; hints only bring it forward. */
export async function watchSources(options: WatchOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, pollSeconds, folders } = options;
  const wake = new Wake();
  let hint: Hint | null = null;
  const giveUp = (error: unknown) => {
    if (hint === null && signal.aborted) return;
    const failed = hint;
    hint = null;
    if (failed !== null || error !== null)
      logger.warn(
        `folders of skills cannot be watched (${String(error)}); ${pollSeconds > 0 ? `changes are seen every ${pollSeconds} s` : 'changes are seen before a turn'}`,
      );
    void failed?.close().catch((cause: unknown) => logger.debug('closing the watcher failed', { cause: String(cause) }));
  };
  let cancel = noop;
  const cover = (covering: Hint | null) => {
    if (covering?.cover(folders().slice(0, FOLDER_LIMIT)) !== true) return;
    cancel();
    cancel = clock.after(SETTLE_MS, () => wake.now());
  };
  await refresh(options);
  try {
    if (options.startHint === undefined) await clock.sleep(HINTS_AFTER_MS, signal);
    hint = await (options.startHint ?? startChokidar)(() => wake.hint(), once(giveUp));
    cover(hint);
  } catch (error) {
    giveUp(error);
  }
  signal.addEventListener('abort', () => wake.now(), { once: true });
  while (!signal.aborted) {
    const sleeper = new AbortController();
    const poll = pollSeconds > 0 ? clock.sleep(pollSeconds * 1000, AbortSignal.any([signal, sleeper.signal])).catch(noop) : null;
    await Promise.race(poll === null ? [wake.wait()] : [wake.wait(), poll]);
    sleeper.abort();
    if (signal.aborted) break;
    const { woken, hinted } = wake.reset();
    await refresh(options);
    cover(hint);
    if (hinted) {
      // A scan may have met a file half written, and watchers leave out the last of several changes.
      cancel();
      cancel = clock.after(SETTLE_MS, () => wake.now());
    }
    if (woken) await clock.sleep(PAUSE_MS, signal).catch(noop);
  }
  cancel();
  await (hint as Hint | null)?.close();
}

async function refresh({ refresh, logger }: WatchOptions): Promise<void> {
  try {
    await refresh();
  } catch (error) {
    logger.warn(`skills could not be rescanned: ${String(error)}`);
  }
}

/** A flag that can be waited for. */
class Wake {
  private set = false;
  private hinted = false;
  private resolve: (() => void) | null = null;

  now(): void {
    this.set = true;
    this.resolve?.();
  }

  hint(): void {
    this.hinted = true;
    this.now();
  }

  wait(): Promise<void> {
    return this.set
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.resolve = resolve;
        });
  }

  reset(): { readonly woken: boolean; readonly hinted: boolean } {
    const was = { woken: this.set, hinted: this.hinted };
    this.set = false;
    this.hinted = false;
    this.resolve = null;
    return was;
  }
}

const startChokidar: StartHint = async (onChange, onFailure) => {
  const { FSWatcher } = await import('chokidar');
  const watcher = new FSWatcher({
    followSymlinks: false,
    depth: 0,
    ignoreInitial: true,
    ignorePermissionErrors: true,
    persistent: true,
    ignored: (path, stats) => stats?.isFile() === true && !path.toLowerCase().endsWith('/skill.md'),
  });
  watcher.on('all', onChange).on('error', onFailure);
  let covered = new Set<string>();
  return {
    cover(folders) {
      const wanted = new Set(folders);
      const added = folders.filter((folder) => !covered.has(folder));
      const gone = [...covered].filter((folder) => !wanted.has(folder));
      covered = wanted;
      if (added.length > 0) watcher.add(added);
      if (gone.length > 0) watcher.unwatch(gone);
      return added.length > 0;
    },
    close: () => watcher.close(),
  };
};

function once(run: (error: unknown) => void): (error: unknown) => void {
  let done = false;
  return (error) => {
    if (!done) run(error);
    done = true;
  };
}

function noop(): void {}
