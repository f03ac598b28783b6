import { type Clock, PithError } from '../../contract/index.ts';
import { within } from '@pith/promises';

export interface CallLimit {
  /** null: no limit. */
  readonly timeoutMs: number | null;
  readonly timedOut: () => PithError;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
}

/** The calls that one generation of an extension is working on. */
export class Calls {
  readonly #clock: Clock;
  readonly #open = new Set<AbortController>();
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

  /** Runs `start` until it ends, its time is over, its caller aborts, or `drain` ends it; what cuts it aborts the signal that it was given. */
  async run<T>({ timeoutMs, timedOut, signal: caller }: CallLimit, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (caller?.aborted) throw aborted(caller);
    const call = new AbortController();
    const result = start(call.signal);
    return new Promise<T>((resolve, reject) => {
      const giveUp = (): void => call.abort(aborted(caller));
      const cancel = timeoutMs === null ? undefined : this.#clock.after(timeoutMs, () => call.abort(timedOut()));
      const end = (): void => {
        cancel?.();
        caller?.removeEventListener('abort', giveUp);
        if (this.#open.delete(call) && this.#open.size === 0) this.#emptied?.();
      };
      this.#open.add(call);
      call.signal.addEventListener('abort', () => {
        end();
        reject(call.signal.reason as PithError);
      });
      if (caller?.aborted) giveUp(); // while it started
      else caller?.addEventListener('abort', giveUp);
      result.finally(end).then(resolve, reject);
    });
  }

  /** Waits up to `graceMs` for open calls, then ends them `interrupted`. */
  async drain(graceMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    const emptied = new Promise<void>((resolve) => (this.#emptied = resolve));
    await within(this.#clock, graceMs, emptied);
    this.#emptied = undefined;
    this.#isCut = this.#open.size > 0;
    for (const call of this.#open)
      call.abort(new PithError('interrupted', 'the extension was stopped or replaced before the call ended', { retryable: true }));
  }
}

function aborted(signal: AbortSignal | undefined): PithError {
  return new PithError('aborted', 'the call was aborted', { cause: signal?.reason });
}
