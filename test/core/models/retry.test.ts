import type { LanguageModel, ModelCallOptions, ModelPart } from 'pith';
import { describe, expect, it, vi } from 'vitest';
import { readWithRetry, type Retry } from '../../../core/models/index.ts';
import { manualClock } from '../store/manual-clock.ts';
import { failed, modelOf, start, text } from './scripted-stream.ts';

const options: ModelCallOptions = { prompt: [] };

async function collect(
  model: LanguageModel,
  { onRetry, ...retry }: Partial<Parameters<typeof readWithRetry>[2]> & { onRetry?(retry: Retry): void } = {},
  clock = manualClock({ jump: true }),
) {
  const parts: ModelPart[] = [];
  let error: unknown;
  try {
    for await (const part of readWithRetry(model, options, { clock, random: () => 1, ...retry })) {
      if (part.type === 'retry') onRetry?.(part);
      else parts.push(part);
    }
  } catch (caught) {
    error = caught;
  }
  return { parts, error, slept: clock.slept };
}

describe('readWithRetry', () => {
  it.each([
    ['429', failed({ statusCode: 429 })],
    ['503', failed({ statusCode: 503 })],
    ['529', failed({ statusCode: 529 })],
    ['a refused connection', failed({ cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }) }, 'fetch failed')],
    ['a reset of one of several addresses', failed({ errors: [failed({ code: 'ECONNRESET' })] })],
    ['what says so itself', failed({ isRetryable: true })],
    ['an overload within an answer', failed({ data: { error: { type: 'overloaded_error' } } }, 'Overloaded')],
    ['a limit within an answer', failed({}, 'Too many requests: slow down')],
    [
      'a broken body under status 200',
      failed({ statusCode: 200, isRetryable: false, cause: failed({ code: 'UND_ERR_SOCKET' }, 'terminated') }),
    ],
  ])('tries again after %s', async (_name, error) => {
    const onRetry = vi.fn();
    const { parts, slept } = await collect(modelOf([error], [error], [start, text('ok')]), { onRetry });
    expect(parts).toEqual([start, text('ok')]);
    expect(slept).toEqual([500, 1_000]);
    expect(onRetry.mock.calls.map(([retry]) => retry)).toEqual([
      { type: 'retry', delayMs: 500, error },
      { type: 'retry', delayMs: 1_000, error },
    ]);
  });

  it.each([
    ['400', failed({ statusCode: 400 })],
    ['401', failed({ statusCode: 401 })],
    ['what forbids it itself', failed({ statusCode: 503, isRetryable: false })],
    ['a used-up quota', failed({ statusCode: 429, data: { error: { code: 'insufficient_quota' } } })],
    ['an abort', failed({ name: 'AbortError' })],
    ['a plain error', new Error('bug')],
    ['V7 what a server says within an answer', failed({ data: { error: { message: 'bad', type: 'invalid_request_error' } } }, 'bad')],
    ['V7 a quota that is used up, within an answer', failed({}, 'Rate limit: insufficient quota')],
  ])('gives up at once after %s', async (_name, error) => {
    const { parts, error: thrown, slept } = await collect(modelOf([error]));
    expect(thrown).toBe(error);
    expect([parts, slept]).toEqual([[], []]);
  });

  it('counts an error part before any content, and shows nothing of the failed attempt', async () => {
    const first: ModelPart[] = [start, { type: 'response-metadata', id: 'one' }, { type: 'error', error: failed({ statusCode: 529 }) }];
    const { parts, slept } = await collect(modelOf(first, [start, text('ok')]));
    expect(parts).toEqual([start, text('ok')]);
    expect(slept).toHaveLength(1);
  });

  it('never tries again once content has been given out', async () => {
    const broken = failed({ code: 'ECONNRESET' });
    for (const end of [broken, { type: 'error', error: broken } as const]) {
      const model = modelOf([start, text('half'), end]);
      const { parts, error, slept } = await collect(model);
      expect(parts).toEqual([start, text('half')]);
      expect(error).toBe(broken);
      expect(slept).toEqual([]);
      expect(model.calls).toHaveLength(1);
    }
  });

  it('throws the last error after the last attempt', async () => {
    const errors = [1, 2, 3, 4].map((number) => failed({ statusCode: 500 }, `failure ${number}`));
    const { error, slept } = await collect(modelOf(...errors.map((one) => [one])));
    expect(error).toBe(errors[3]);
    expect(slept).toEqual([500, 1_000, 2_000]);
    const once = modelOf([errors[0] as Error]);
    expect((await collect(once, { maxRetries: 0 })).error).toBe(errors[0]);
  });

  it.each([
    ['retry-after-ms', { 'Retry-After-Ms': '1234' }, 1_234],
    ['retry-after in seconds', { 'retry-after': '7' }, 7_000],
    ['retry-after as a date', { 'retry-after': new Date(1_700_000_009_000).toUTCString() }, 9_000],
    ['retry-after beyond a minute', { 'retry-after': '9999' }, 60_000],
    ['retry-after in the past', { 'retry-after': new Date(0).toUTCString() }, 0],
    ['nonsense', { 'retry-after': 'soon' }, 500],
  ])('obeys %s', async (_name, responseHeaders, expected) => {
    const { slept } = await collect(modelOf([failed({ statusCode: 429, responseHeaders })], [text('ok')]));
    expect(slept).toEqual([expected]);
  });

  it.each([2 ** 53, 1e300, -1, 0.5, Number.NaN])('V1 %s tokens are no count', async (total) => {
    const counts = { total, noCache: total, cacheRead: 0, cacheWrite: 0 };
    const usage = { inputTokens: counts, outputTokens: { total: 5, text: 5, reasoning: 0 } };
    const finish: ModelPart = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage };
    const { parts } = await collect(modelOf([text('hi'), finish]));
    expect(parts.at(-1)).toMatchObject({
      type: 'finish',
      usage: { inputTokens: { total: undefined }, outputTokens: { total: undefined } },
    });
  });

  it('spreads the waits by chance', async () => {
    const { slept } = await collect(modelOf([failed({ statusCode: 500 })], [text('ok')]), { random: () => 0 });
    expect(slept).toEqual([250]);
  });

  it('ends with the reason of an abort: before, while waiting, and in a stream that ignores it', async () => {
    const reason = new Error('stopped by a person');
    const unused = modelOf();
    expect((await collect(unused, { signal: AbortSignal.abort(reason) })).error).toBe(reason);
    expect(unused.calls).toEqual([]);

    const waiting = new AbortController();
    const { error } = await collect(
      modelOf([failed({ statusCode: 500 })]),
      { signal: waiting.signal, onRetry: () => waiting.abort(reason) },
      manualClock(),
    );
    expect(error).toBe(reason);

    const streaming = new AbortController();
    const model = modelOf([text('one'), 'hang']);
    const read = readWithRetry(model, options, { clock: manualClock(), signal: streaming.signal });
    expect((await read.next()).value).toEqual(text('one'));
    const hanging = read.next();
    streaming.abort(reason);
    await expect(hanging).rejects.toBe(reason);
    expect(model.calls[0]?.abortSignal).toBe(streaming.signal);
  });

  it('U47 lets the rest of the process run between parts that are all there at once', async () => {
    const stop = new AbortController();
    const why = new Error('enough');
    setImmediate(() => stop.abort(why));
    const model = modelOf(Array.from({ length: 100_000 }, () => text('on')));
    const { parts, error } = await collect(model, { signal: stop.signal });
    expect(error).toBe(why);
    expect(parts.length).toBeLessThan(1000);
  });

  it('reads no further than it is asked to, and cancels the stream of one that is aborted meanwhile, or left', async () => {
    const cancel = vi.fn();
    const pull = vi.fn((controller: ReadableStreamDefaultController<ModelPart>) => controller.enqueue(text('more')));
    const doStream = async () => ({ stream: new ReadableStream<ModelPart>({ pull, cancel }, { highWaterMark: 0 }) });
    const model: LanguageModel = { specificationVersion: 'v3', provider: 'test', modelId: 'm', doStream };
    const reason = new Error('left');
    const leaving = new AbortController();
    const read = readWithRetry(model, options, { clock: manualClock(), signal: leaving.signal });
    await read.next();
    leaving.abort(reason);
    await expect(read.next()).rejects.toBe(reason);
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledTimes(1));
    const left = readWithRetry(model, options, { clock: manualClock() });
    await left.next();
    await left.return();
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledTimes(2));
    expect(pull).toHaveBeenCalledTimes(2);
  });

  it('cancels the stream of an answer that comes after the abort', async () => {
    const cancel = vi.fn();
    let answer: (given: { stream: ReadableStream<ModelPart> }) => void = () => undefined;
    const model: LanguageModel = {
      specificationVersion: 'v3',
      provider: 'test',
      modelId: 'm',
      doStream: () => new Promise((resolve) => (answer = resolve)),
    };
    const leaving = new AbortController();
    const asked = readWithRetry(model, options, { clock: manualClock(), signal: leaving.signal }).next();
    leaving.abort(new Error('left'));
    await expect(asked).rejects.toThrow('left');
    answer({ stream: new ReadableStream<ModelPart>({ cancel }) });
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledTimes(1));
  });
});
