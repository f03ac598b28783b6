import type { Clock, LanguageModel, ModelCallOptions, ModelPart } from '../contract/index.ts';
import { checkedPart } from './checked-part.ts';
import { askedDelay, mayPass, readFault, type ModelFault } from './fault.ts';
import { untilAborted } from '@pith/promises';

export interface RetryOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Attempts after the first; default 3. */
  readonly maxRetries?: number;
  /** 0 ≤ x < 1, for the jitter; default Math.random. */
  random?(): number;
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 60_000;

/** Reported before each wait. */
export interface Retry {
  readonly type: 'retry';
  readonly delayMs: number;
  readonly error: unknown;
}

/**
 * The model's parts. Retries a rate limit, a server error or a lost connection, but only before the first part of content was passed on.
 * Throws the last error, also one that the provider reports as an error part, or the signal's reason as soon as it aborts.
 */
export async function* readWithRetry(
  model: Pick<LanguageModel, 'doStream'>,
  options: ModelCallOptions,
  { clock, signal, maxRetries = 3, random = Math.random }: RetryOptions,
): AsyncGenerator<ModelPart | Retry, void, undefined> {
  for (let attempt = 1; ; attempt += 1) {
    let delivered = false;
    try {
      for await (const part of partsOf(model, options, signal)) {
        delivered = true;
        yield part;
      }
      return;
    } catch (error) {
      signal?.throwIfAborted();
      const delayMs = delivered || attempt > maxRetries ? null : delayOf(readFault(error), attempt, random, clock.now());
      if (delayMs === null) throw error;
      yield { type: 'retry', delayMs, error };
      await clock.sleep(delayMs, signal);
    }
  }
}

/** The parts of one attempt. Parts before the content are buffered, so that an immediate failure leaves no trace. */
async function* partsOf(
  model: Pick<LanguageModel, 'doStream'>,
  options: ModelCallOptions,
  signal: AbortSignal | undefined,
): AsyncGenerator<ModelPart, void, undefined> {
  signal?.throwIfAborted();
  const answer = Promise.resolve(model.doStream(signal === undefined ? options : { ...options, abortSignal: signal }));
  const wait = <T>(work: PromiseLike<T>): PromiseLike<T> => (signal === undefined ? work : untilAborted(work, signal));
  let iterator: AsyncIterator<ModelPart> | undefined;
  try {
    const { stream } = await wait(answer);
    iterator = stream[Symbol.asyncIterator]();
    const held: ModelPart[] = [];
    for (let isHeldBack = true; ;) {
      signal?.throwIfAborted();
      const next = await wait(iterator.next());
      if (next.done) break;
      const part = checkedPart(next.value);
      if (part.type === 'error') throw part.error;
      if (isHeldBack && isPreamble(part)) {
        held.push(part);
        continue;
      }
      if (isHeldBack) yield* held.splice(0);
      isHeldBack = false;
      yield part;
    }
    iterator = undefined;
    yield* held;
  } finally {
    // Not awaited: a provider that ignores the abort may never answer.
    if (iterator) void leaveStream(iterator);
    else if (signal?.aborted) void answer.then(({ stream }) => leaveStream(stream[Symbol.asyncIterator]()), ignore);
  }
}

/** For a rejection after nobody waits any more. */
function ignore(): void {}

async function leaveStream(iterator: AsyncIterator<ModelPart>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // Nobody reads the rest.
  }
}

/** Milliseconds until the next attempt; null when another would not help. */
function delayOf(fault: ModelFault, attempt: number, random: () => number, now: number): number | null {
  if (!mayPass(fault)) return null;
  const asked = askedDelay(fault, now);
  if (asked !== null) return Math.min(asked, MAX_DELAY_MS);
  return Math.round(Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS) * (0.5 + random() / 2));
}

function isPreamble(part: ModelPart): boolean {
  return part.type === 'stream-start' || part.type === 'response-metadata' || part.type === 'raw';
}
