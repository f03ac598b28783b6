import { PithError } from '../../contract/index.ts';
import type { Generation } from './generation.ts';

/**
 * Asks `generation` for an answer in parts. It is an open call of that generation until its last part has been read: a reload waits for it
 * as for any other, then ends it `interrupted`.
 */
export function openStream<T>(
  generation: Generation,
  caller: AbortSignal | undefined,
  ask: (signal: AbortSignal) => PromiseLike<AsyncIterable<T>>,
): Promise<AsyncIterable<T>> {
  return new Promise((resolve, reject) => {
    const limit = { timeoutMs: null, timedOut: neverLate, signal: caller };
    let cut: ((error: unknown) => void) | undefined;
    const whole = generation.calls.run(limit, async (signal) => {
      const answer = (await ask(signal)) as Partial<AsyncIterable<T>> | null | undefined;
      if (typeof answer?.[Symbol.asyncIterator] !== 'function')
        throw new PithError('provider_failed', 'the answer has no parts: return an AsyncIterable');
      const source = (answer as AsyncIterable<T>)[Symbol.asyncIterator]();
      await new Promise<void>((ended) => {
        const parts = new Parts(source, ended);
        cut = (error) => parts.cut(error);
        resolve(parts);
      });
    });
    whole.catch((error: unknown) => {
      reject(error);
      cut?.(error);
    });
  });
}

/** The parts of an answer, one at a time, until its end or `cut`. */
class Parts<T> implements AsyncIterable<T>, AsyncIterator<T, undefined> {
  readonly #source: AsyncIterator<T>;
  readonly #ended: () => void;
  #fail: ((error: unknown) => void) | undefined;
  #cutWith: { readonly error: unknown } | undefined;

  constructor(source: AsyncIterator<T>, ended: () => void) {
    this.#source = source;
    this.#ended = ended;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      if (this.#cutWith) return reject(this.#cutWith.error);
      this.#fail = reject;
      this.#source.next().then(
        (result) => {
          if (result.done) this.#ended();
          resolve(result);
        },
        (error: unknown) => {
          this.#ended();
          reject(error);
        },
      );
    });
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#ended();
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  /** A source that ignores its signal is left behind. */
  cut(error: unknown): void {
    this.#cutWith = { error };
    this.#fail?.(error);
  }
}

function neverLate(): never {
  throw new Error('a stream has no time limit');
}
