import type { Clock, LanguageModel, ModelCallOptions, ModelPart } from '../contract/index.ts';
import { isConnectionLoss } from './connection.ts';
import { readFault, type ModelFault } from './fault.ts';

export interface RetryOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Attempts after the first; default 3. */
  readonly maxRetries?: number;
  /** 0 ≤ x < 1, for the jitter; default Math.random. */
  random?(): number;
  /** Before each wait. */
  onRetry?(retry: { readonly attempt: number; readonly delayMs: number; readonly error: unknown }): void;
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 60_000;

/** Takes each part in turn; a promise: no more until it resolves. */
export type TakePart = (part: ModelPart) => Promise<void> | undefined;

/**
 * Gives `take` the model's parts. A rate limit, a server error or a lost connection is tried again, but only before the first part of
 * content has been given out. Rejects with what failed at last, also when the provider reports it as an error part; with the signal's
 * reason at once when it aborts, whatever the model does.
 */
export function readWithRetry(model: LanguageModel, options: ModelCallOptions, retry: RetryOptions, take: TakePart): Promise<void> {
  const { signal } = retry;
  if (signal === undefined) return new Reading(model, options, retry, take).run();
  const reading = new Reading(model, { ...options, abortSignal: signal }, retry, take);
  // One promise and one listener for all parts: a race for each would cost every one of them two more promises.
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reading.leave();
      reject(signal.reason as Error);
    };
    const end = (): void => signal.removeEventListener('abort', abort);
    signal.addEventListener('abort', abort);
    reading.run().then(
      () => {
        end();
        resolve();
      },
      (error: Error) => {
        end();
        reject(error);
      },
    );
  });
}

class Reading {
  readonly #model: LanguageModel;
  readonly #options: ModelCallOptions;
  readonly #retry: RetryOptions;
  readonly #take: TakePart;
  #iterator: AsyncIterator<ModelPart> | undefined;
  #isLeft = false;
  #delivered = false;

  constructor(model: LanguageModel, options: ModelCallOptions, retry: RetryOptions, take: TakePart) {
    this.#model = model;
    this.#options = options;
    this.#retry = retry;
    this.#take = take;
  }

  /** The model may go on for as long as it likes: nobody listens. */
  leave(): void {
    this.#isLeft = true;
    this.#drop();
  }

  async run(): Promise<void> {
    const { clock, signal, maxRetries = 3, random = Math.random, onRetry } = this.#retry;
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      try {
        return await this.#read();
      } catch (error) {
        this.#drop();
        if (this.#isLeft) throw error;
        signal?.throwIfAborted();
        const delayMs = this.#delivered || attempt > maxRetries ? null : delayOf(readFault(error), attempt, random, clock.now());
        if (delayMs === null) throw error;
        onRetry?.({ attempt, delayMs, error });
        await clock.sleep(delayMs, signal);
      }
    }
  }

  async #read(): Promise<void> {
    const { stream } = await this.#model.doStream(this.#options);
    const iterator = (this.#iterator = stream[Symbol.asyncIterator]());
    if (this.#isLeft) return this.#drop();
    // What comes before content is held back, so that a failure at once leaves no trace.
    let held: ModelPart[] | null = [];
    for (;;) {
      const next = await iterator.next();
      if (this.#isLeft) return;
      if (next.done) break;
      const part = next.value;
      if (held !== null) {
        if (isPreamble(part)) {
          held.push(part);
          continue;
        }
        if (part.type === 'error') throw part.error;
        this.#delivered = true;
        for (const early of held) this.#take(early);
        held = null;
      } else if (part.type === 'error') throw part.error;
      const full = this.#take(part);
      if (full) await full;
    }
    this.#iterator = undefined;
    for (const early of held ?? []) this.#take(early);
  }

  /** Not awaited: a provider that ignores the abort may never answer. */
  #drop(): void {
    const iterator = this.#iterator;
    this.#iterator = undefined;
    if (iterator) void leaveStream(iterator);
  }
}

async function leaveStream(iterator: AsyncIterator<ModelPart>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // Nobody reads on.
  }
}

/** Milliseconds until the next attempt, or null when another would not help. */
function delayOf(fault: ModelFault, attempt: number, random: () => number, now: number): number | null {
  if (!mayRetry(fault)) return null;
  const asked = askedDelay(fault.headers, now);
  if (asked !== null) return Math.min(asked, MAX_DELAY_MS);
  return Math.round(Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS) * (0.5 + random() / 2));
}

function mayRetry(fault: ModelFault): boolean {
  const { statusCode, isRetryable, codes, text } = fault;
  if (fault.isAbort || codes.has('insufficient_quota') || text.includes('insufficient_quota')) return false;
  if ((statusCode === null || statusCode < 300) && isConnectionLoss(fault)) return true;
  if (isRetryable === false) return false;
  return statusCode === null ? isRetryable === true : statusCode === 408 || statusCode === 429 || statusCode >= 500;
}

/** What `retry-after-ms` or `retry-after` (seconds or a date) ask for; null without them. */
function askedDelay(headers: Readonly<Record<string, string>>, now: number): number | null {
  const milliseconds = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (milliseconds >= 0) return milliseconds;
  const text = headers['retry-after'];
  if (text === undefined) return null;
  const seconds = Number(text);
  const delay = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(text) - now;
  return Number.isNaN(delay) ? null : Math.max(0, delay);
}

function isPreamble(part: ModelPart): boolean {
  return part.type === 'stream-start' || part.type === 'response-metadata' || part.type === 'raw';
}
