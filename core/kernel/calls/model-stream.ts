import type { LanguageModel, ModelCallOptions, ModelPart } from '../../contract/index.ts';
import type { Generation } from '../lifecycle/generation.ts';

type Answer = Awaited<ReturnType<LanguageModel['doStream']>>;

/**
 * Asks a model of `generation`. The answer is an open call of that generation until its last part has been read: a reload waits for it
 * as for any other, then ends it `interrupted`.
 */
export function streamOf(
  generation: Generation,
  options: ModelCallOptions,
  ask: (options: ModelCallOptions) => PromiseLike<Answer>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const limit = { timeoutMs: null, timedOut: neverLate, signal: options.abortSignal };
    let cut: ((error: unknown) => void) | undefined;
    const whole = generation.calls.run(limit, async (signal) => {
      const { stream } = await ask({ ...options, abortSignal: signal });
      await new Promise<void>((ended) => {
        const parts = new Parts(stream[Symbol.asyncIterator](), ended);
        cut = (error) => parts.cut(error);
        resolve({ stream: parts });
      });
    });
    whole.catch((error: unknown) => {
      reject(error);
      cut?.(error);
    });
  });
}

/** The parts of an answer, one at a time, until its end or `cut`. */
class Parts implements AsyncIterable<ModelPart>, AsyncIterator<ModelPart, undefined> {
  readonly #source: AsyncIterator<ModelPart>;
  readonly #ended: () => void;
  #fail: ((error: unknown) => void) | undefined;
  #cutWith: { readonly error: unknown } | undefined;

  constructor(source: AsyncIterator<ModelPart>, ended: () => void) {
    this.#source = source;
    this.#ended = ended;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<ModelPart, undefined>> {
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

  async return(): Promise<IteratorResult<ModelPart, undefined>> {
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
