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

/**
 * The model's parts. A rate limit, a server error or a lost connection is tried again, but only before the first part of content has been
 * given out. Throws what failed at last, also when the provider reports it as an error part; the signal's reason when it aborts.
 */
export async function* streamWithRetry(
  model: LanguageModel,
  options: ModelCallOptions,
  retry: RetryOptions,
): AsyncGenerator<ModelPart, void, undefined> {
  const { clock, signal, maxRetries = 3, random = Math.random, onRetry } = retry;
  const call = signal === undefined ? options : { ...options, abortSignal: signal };
  const guard = abortGuard(signal);
  try {
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      let delivered = false;
      try {
        // Read here and not by a generator of its own: each one more costs every part two turns of the microtask queue.
        let iterator: AsyncIterator<ModelPart> | undefined;
        let finished = false;
        try {
          const { stream } = await guard.wait(model.doStream(call));
          iterator = stream[Symbol.asyncIterator]();
          // What comes before content is held back, so that a failure at once leaves no trace.
          let held: ModelPart[] | null = [];
          for (;;) {
            const next = await guard.wait(iterator.next());
            if (next.done) break;
            const part = next.value;
            if (held !== null && isPreamble(part)) {
              held.push(part);
              continue;
            }
            if (part.type === 'error') throw part.error;
            delivered = true;
            if (held !== null) for (const early of held) yield early;
            held = null;
            yield part;
          }
          finished = true;
          if (held !== null) for (const early of held) yield early;
          return;
        } finally {
          // Not awaited: a provider that ignores the abort may never answer.
          if (!finished) void Promise.resolve(iterator?.return?.()).catch(() => undefined);
        }
      } catch (error) {
        signal?.throwIfAborted();
        const delayMs = delivered || attempt > maxRetries ? null : delayOf(readFault(error), attempt, random, clock.now());
        if (delayMs === null) throw error;
        onRetry?.({ attempt, delayMs, error });
        await clock.sleep(delayMs, signal);
      }
    }
  } finally {
    guard.release();
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

/** Lets each wait end when the signal aborts, with one listener for all of them. */
function abortGuard(signal: AbortSignal | undefined) {
  let reject: ((reason: unknown) => void) | null = null;
  const abort = (): void => reject?.(signal?.reason);
  signal?.addEventListener('abort', abort);
  return {
    wait<T>(promise: PromiseLike<T>): PromiseLike<T> {
      if (signal === undefined) return promise;
      return new Promise<T>((resolve, fail) => {
        reject = fail;
        promise.then(resolve, fail);
      });
    },
    release(): void {
      signal?.removeEventListener('abort', abort);
    },
  };
}
