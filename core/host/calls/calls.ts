import { PithError } from '../../contract/errors.ts';
import { isThenable } from '../../contract/thenable.ts';
import type { Clock } from '../../contract/index.ts';

export interface CallLimit {
  /** null: no limit. */
  readonly timeoutMs: number | null;
  readonly timedOut: () => PithError;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
}

/** Gives the signal of a call; made when it is asked for, because most code never does. */
export interface SignalOf {
  (): AbortSignal;
  /** Names one listener that is told why the call was cut; no signal is made for it. */
  onCut?(this: void, listener: (error: PithError) => void): void;
}

/** The calls that one generation of an extension is working on. */
export class Calls {
  readonly #clock: Clock;
  readonly #open = new Set<(error: PithError) => void>();
  #emptied: (() => void) | undefined;
  #isCut = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Its generation was stopped or replaced before its calls had ended. */
  get isCut(): boolean {
    return this.#isCut;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Runs `start` until it ends, its time is over, its caller aborts, or `drain` ends it. */
  run<T>(limit: CallLimit, start: (signalOf: SignalOf) => T | Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (limit.signal?.aborted) return reject(aborted(limit.signal));
      let controller: AbortController | undefined;
      let ended = false;
      const end = (): boolean => {
        if (ended) return false;
        ended = true;
        cancelTimer?.();
        limit.signal?.removeEventListener('abort', onAbort);
        this.#open.delete(cut);
        if (this.#open.size === 0) this.#emptied?.();
        return true;
      };
      const cut = (error: PithError): void => {
        if (!end()) return;
        reject(error);
        controller?.abort(error);
        onCut?.(error);
        cutWith = error;
      };
      let onCut: ((error: PithError) => void) | undefined;
      let cutWith: PithError | undefined;
      const onAbort = (): void => cut(aborted(limit.signal));
      const signalOf: SignalOf = () => {
        controller ??= new AbortController();
        if (cutWith) controller.abort(cutWith);
        return controller.signal;
      };
      signalOf.onCut = (listener) => (cutWith ? listener(cutWith) : (onCut = listener));
      limit.signal?.addEventListener('abort', onAbort);
      const cancelTimer = limit.timeoutMs === null ? undefined : this.#clock.after(limit.timeoutMs, () => cut(limit.timedOut()));
      this.#open.add(cut);
      const succeed = (value: T): void => void (end() && resolve(value));
      const fail = (error: unknown): void => void (end() && reject(error));
      try {
        const result = start(signalOf);
        if (isThenable(result)) result.then(succeed, fail);
        else succeed(result);
      } catch (error) {
        fail(error);
      }
    });
  }

  /** Waits up to `graceMs` for open calls, then ends them `interrupted`. */
  async drain(graceMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(graceMs, resolve);
      this.#emptied = () => {
        cancel();
        resolve();
      };
    });
    this.#emptied = undefined;
    this.#isCut = this.#open.size > 0;
    for (const cut of this.#open)
      cut(new PithError('interrupted', 'the extension was stopped or replaced before the call ended', { retryable: true }));
  }
}

function aborted(signal: AbortSignal | undefined): PithError {
  return new PithError('aborted', 'the call was aborted', { cause: signal?.reason });
}
