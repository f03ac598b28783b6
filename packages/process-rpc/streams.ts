import type { Codec } from './frames.ts';

/** The most parts that may be sent and not yet read. */
export const WINDOW = 32;

export interface PumpOptions {
  readonly codec: Pick<Codec, 'refusal'>;
  send(part: unknown): void;
  /** Receives the other side's signals: send more, or stop. */
  readonly entry: { abort(reason: unknown): void; credit?(parts: number): void };
  ended(): boolean;
}

/** Sends the parts of an answer, at most as many as the other side has room for. Closes the source when nobody wants more. */
export async function pumpStream(result: unknown, { codec, send, entry, ended }: PumpOptions): Promise<void> {
  const state: { room: number; cancelled: boolean; source?: AsyncIterator<unknown> } = { room: WINDOW, cancelled: false };
  let wake = (): void => undefined;
  const release = (): void => void Promise.resolve(state.source?.return?.()).catch(() => undefined); // nobody reads the rest
  const { abort } = entry;
  // Set before any wait: the other side may cancel while the source is still being made.
  entry.abort = (reason) => {
    state.cancelled = true;
    abort(reason);
    wake();
    release();
  };
  entry.credit = (parts) => {
    state.room = Math.min(WINDOW, state.room + parts);
    wake();
  };
  const source = (state.source = iteratorOf(await result, codec));
  try {
    while (!state.cancelled && !ended()) {
      const next = await source.next();
      if (next.done) return;
      while (state.room <= 0 && !state.cancelled) await new Promise<void>((resolve) => (wake = resolve));
      if (state.cancelled || ended()) return;
      state.room -= 1;
      send(next.value);
    }
  } finally {
    release();
  }
}

function iteratorOf(value: unknown, { refusal }: PumpOptions['codec']): AsyncIterator<unknown> {
  const parts = value as Partial<AsyncIterable<unknown>> | null;
  if (typeof parts?.[Symbol.asyncIterator] === 'function') return (parts as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  throw refusal('no_parts', 'the answer has no parts: return an AsyncIterable');
}

interface ReceiveOptions {
  credit(parts: number): void;
  cancel(): void;
  flooded(): void;
}

/** The parts of the other side's answer, one at a time. */
export class ReceivedStream implements AsyncIterableIterator<unknown> {
  readonly #queue: unknown[] = [];
  #ended: { readonly error?: Error } | undefined;
  #asked: { resolve(result: IteratorResult<unknown>): void; reject(error: Error): void } | undefined;
  #read = 0;
  readonly waiting = {
    resolve: (): void => this.#end({}),
    reject: (error: Error): void => this.#end({ error }),
    part: (value: unknown): void => this.#part(value),
  };

  constructor(private readonly options: ReceiveOptions) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<unknown>> {
    if (this.#queue.length > 0) {
      const value = this.#queue.shift();
      this.#give();
      return Promise.resolve({ done: false, value });
    }
    if (this.#ended) return this.#ended.error ? Promise.reject(this.#ended.error) : Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => (this.#asked = { resolve, reject }));
  }

  async return(): Promise<IteratorResult<unknown>> {
    if (!this.#ended) {
      this.options.cancel();
      this.#end({});
    }
    this.#queue.length = 0;
    return { done: true, value: undefined };
  }

  #part(value: unknown): void {
    if (this.#ended) return;
    if (this.#queue.length >= WINDOW) return this.options.flooded();
    const asked = this.#asked;
    this.#asked = undefined;
    if (!asked) return void this.#queue.push(value);
    this.#give();
    asked.resolve({ done: false, value });
  }

  /** Grants credit for half a window at a time, not for single parts. */
  #give(): void {
    this.#read += 1;
    if (this.#read < WINDOW / 2 || this.#ended) return;
    this.options.credit(this.#read);
    this.#read = 0;
  }

  #end(how: { readonly error?: Error }): void {
    if (this.#ended) return;
    this.#ended = how;
    const asked = this.#asked;
    this.#asked = undefined;
    if (how.error) asked?.reject(how.error);
    else asked?.resolve({ done: true, value: undefined });
  }
}
