import { PithError } from '../../contract/errors.ts';
import type { Clock } from '../../contract/index.ts';

export interface CallLimit {
  /** null: no limit. */
  readonly timeoutMs: number | null;
  readonly timedOut: () => PithError;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
}

/** How the code that works on a call learns that it was cut. */
export interface CallSignal {
  /** Made when it is asked for, because most code never does. */
  get(): AbortSignal;
  /** Names one listener that is told why the call was cut; no signal is made for it. */
  onCut?(listener: (error: PithError) => void): void;
}

export const NEVER_CUT: CallSignal = { get: () => new AbortController().signal };

/** The calls that one generation of an extension is working on. */
export class Calls {
  readonly #clock: Clock;
  readonly #open = new Set<OpenCall>();
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
  async run<T>(limit: CallLimit, start: (signal: CallSignal) => Promise<T>): Promise<T> {
    if (limit.signal?.aborted) throw aborted(limit.signal);
    const call = new OpenCall(limit);
    const result = start(call);
    return new Promise<T>((resolve, reject) => {
      this.#open.add(call);
      const cancel = limit.timeoutMs === null ? undefined : this.#clock.after(limit.timeoutMs, () => call.cut(limit.timedOut()));
      call.whenEnded((error) => {
        cancel?.();
        this.#open.delete(call);
        if (this.#open.size === 0) this.#emptied?.();
        if (error) reject(error);
      });
      result.then(
        (value) => {
          if (call.end()) resolve(value);
        },
        (error: Error) => {
          if (call.end()) reject(error);
        },
      );
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
    for (const call of this.#open)
      call.cut(new PithError('interrupted', 'the extension was stopped or replaced before the call ended', { retryable: true }));
  }
}

class OpenCall implements CallSignal {
  readonly #caller: AbortSignal | undefined;
  #controller: AbortController | undefined;
  #onCut: ((error: PithError) => void) | undefined;
  #cutWith: PithError | undefined;
  #ended = false;
  #whenEnded: ((cutWith?: PithError) => void) | undefined;

  constructor({ signal }: CallLimit) {
    this.#caller = signal;
  }

  get(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#cutWith) this.#controller.abort(this.#cutWith);
    return this.#controller.signal;
  }

  onCut(listener: (error: PithError) => void): void {
    if (this.#cutWith) listener(this.#cutWith);
    else this.#onCut = listener;
  }

  /** From now on the caller's abort cuts it; it may have come already. */
  whenEnded(told: (cutWith?: PithError) => void): void {
    this.#whenEnded = told;
    if (this.#caller?.aborted) this.handleEvent();
    else this.#caller?.addEventListener('abort', this);
  }

  /** Of the caller's signal. */
  handleEvent(): void {
    this.cut(aborted(this.#caller));
  }

  cut(error: PithError): void {
    if (!this.end(error)) return;
    this.#cutWith = error;
    this.#controller?.abort(error);
    this.#onCut?.(error);
  }

  /** True the first time. */
  end(cutWith?: PithError): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#caller?.removeEventListener('abort', this);
    this.#whenEnded?.(cutWith);
    return true;
  }
}

function aborted(signal: AbortSignal | undefined): PithError {
  return new PithError('aborted', 'the call was aborted', { cause: signal?.reason });
}
