import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ApproveAnswer, createPith, type EmbeddedModel, type Pith, type PithOptions, type Question } from 'pith/embed';
import type { PithError } from 'pith';
import { fakeClock, scriptedModel, type ScriptedStep } from 'pith/testing';
import { z } from 'zod';
import { familyOf, HOST_VARIABLE } from '@pith/supervised-process';
import { startOpenAiServer } from '../../fixtures/openai-server.ts';
import { folderWith } from '../../places.ts';
import { gate, until, within } from '../../waiting.ts';

const ASKING = {
  write: {
    description: 'Writes.',
    inputSchema: z.object({ text: z.string() }),
    effect: 'read' as const, // several are asked about at once
    needsApproval: true,
    execute: () => 'written',
  },
};
const ask = (...texts: readonly string[]): ScriptedStep => ({ calls: texts.map((text) => ({ name: 'write', input: { text } })) });
const never = () => new Promise<never>(() => undefined);

async function pithWith(script: readonly ScriptedStep[], options: PithOptions = {}) {
  const model = scriptedModel(script);
  const pith = await createPith({ model: model.model, tools: ASKING, ...options });
  onTestFinished(() => pith.close());
  return { pith, model };
}

/** A promise, and what resolves it. */
function signalled() {
  let ring = (): void => undefined;
  const rung = new Promise<void>((resolve) => (ring = resolve));
  return { ring, rung };
}

/** It says one word and then nothing more, whatever happens to the signal. */
const hanging: EmbeddedModel = {
  specificationVersion: 'v3',
  provider: 'own',
  modelId: 'hanging',
  doStream: async () => ({
    stream: (async function* () {
      yield { type: 'stream-start', warnings: [] };
      yield { type: 'text-start', id: '1' };
      yield { type: 'text-delta', id: '1', delta: 'one' };
      await never();
    })(),
  }),
};

describe('U44 a question', () => {
  it('without an answer holds up neither the signal nor close', async () => {
    const asked = signalled();
    const { pith } = await pithWith([ask('hi'), ask('hi')], { approve: () => (asked.ring(), never()) });
    const stop = new AbortController();
    const first = pith.run('write', { signal: stop.signal });
    await asked.rung;
    stop.abort();
    expect(await first.result).toMatchObject({ status: 'aborted' });
    const second = pith.run('write', { thread: 'second' });
    for await (const event of second) if (event.type === 'approval-request') await pith.close();
    expect(await second.result).toMatchObject({ status: 'aborted' });
  });

  it('whose callback honours its signal ends the run as aborted', async () => {
    const stop = new AbortController();
    const approve = (_: Question, signal: AbortSignal) =>
      new Promise<ApproveAnswer>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        stop.abort();
      });
    const { pith } = await pithWith([ask('hi')], { approve });
    expect(await pith.run('write', { signal: stop.signal }).result).toMatchObject({ status: 'aborted' });
  });

  it('whose callback throws fails the run with a code and the cause, and stays open', async () => {
    const cause = new TypeError('no dialog');
    const { pith } = await pithWith([ask('hi'), { text: 'done' }], {
      approve: () => {
        throw cause;
      },
    });
    const run = pith.run('write');
    await expect(run.result).rejects.toMatchObject({ name: 'PithError', code: 'approve_failed', cause });
    await expect(pith.resume(run.thread).result).rejects.toMatchObject({ code: 'approve_failed' });
  });

  it('put off is asked once, and goes on with a schema and the usage of the whole turn', async () => {
    const store = folderWith();
    const asked: string[] = [];
    const later = (question: Question) => (asked.push(question.id), 'later' as const);
    const agents = [{ id: 'first' }, { id: 'second', instructions: 'Be the second.' }];
    const script = [ask('a', 'b'), { text: 'Oslo' }, { text: '{"city":"Oslo"}' }];
    const first = await pithWith(script.slice(0, 1), { store, agents, approve: later });
    const waiting = await first.pith.run('write', { agent: 'second' }).result;
    const ids = waiting.questions.map(({ id }) => id);
    expect([waiting.status, asked]).toEqual(['waiting', ids]);
    expect(waiting.usage.inputTokens).toBeGreaterThan(0);
    await first.pith.close();

    const second = await pithWith(script.slice(1), { store, agents, approve: later });
    asked.length = 0;
    const still = await second.pith.resume(waiting.thread, { [ids[0]!]: 'yes' }).result;
    expect([still.status, still.questions.map(({ id }) => id), asked]).toEqual(['waiting', ids.slice(1), ids.slice(1)]);
    expect(still.usage).toEqual(waiting.usage);
    const output = z.object({ city: z.string() });
    const ended = await second.pith.resume(waiting.thread, { [ids[1]!]: 'yes' }, { output }).result;
    expect([ended.status, ended.output?.city]).toEqual(['done', 'Oslo']); // the first answer was asked for again
    expect(second.model.requests.map((request) => JSON.stringify(request).includes('Be the second.'))).toEqual([true, true]);
    expect(ended.usage.inputTokens).toBeGreaterThan(waiting.usage.inputTokens);
  });

  it('that was never asked is refused; what was answered may be answered again', async () => {
    const { pith } = await pithWith([ask('a'), { text: 'done' }], { approve: () => 'later' });
    const { thread, questions } = await pith.run('write').result;
    await expect(pith.resume(thread, { wrong: 'yes' }).result).rejects.toMatchObject({ code: 'approval_unknown' });
    const answers = { [questions[0]!.id]: 'yes' } as const;
    expect(await pith.resume(thread, answers).result).toMatchObject({ status: 'done', text: 'done' });
    await expect(pith.resume(thread, answers).result).rejects.toMatchObject({ code: 'nothing_to_resume', cure: expect.any(String) });
    await expect(pith.resume('elsewhere').result).rejects.toMatchObject({ code: 'thread_unknown' });
  });

  it('is open for 24 hours: a yes that comes later is refused, as is one after a no', async () => {
    const clock = fakeClock();
    const { pith, model } = await pithWith([ask('a'), ask('b', 'c')], { clock, approve: () => 'later' });
    const late = (id: string, why: string) => ({
      code: 'approval_answered',
      message: `resume: question '${id}' is no longer open: ${why}`,
      cure: expect.any(String),
    });
    const first = await pith.run('write').result;
    await clock.advance(25 * 60 * 60 * 1000);
    const [{ id } = { id: '' }] = first.questions;
    await expect(pith.resume(first.thread, { [id]: 'yes' }).result).rejects.toMatchObject(late(id, 'nobody answered within 24 h'));

    const second = await pith.run('write', { thread: 'second' }).result;
    const [b = '', c = ''] = second.questions.map((question) => question.id);
    expect((await pith.resume('second', { [b]: 'no' }).result).status).toBe('waiting');
    const answers = { [b]: 'yes', [c]: 'yes' } as const;
    await expect(pith.resume('second', answers).result).rejects.toMatchObject(late(b, 'it was answered no'));
    expect((await pith.questions('second')).map((question) => question.id)).toEqual([c]);
    expect(model.requests).toHaveLength(2);
  });
});

it('U44 what runs is what was asked about, whatever a reader makes of events and a tool of its input', async () => {
  const ran: unknown[] = [];
  const asked: unknown[] = [];
  const execute = (input: unknown) => {
    ran.push({ ...(input as object) });
    Object.assign(input as object, { text: 'of the tool' });
    return { kept: 'yes' };
  };
  const { pith, model } = await pithWith([ask('hi'), ask('hi'), { text: 'done' }], {
    tools: {
      write: {
        inputSchema: { type: 'object' },
        execute,
        needsApproval: (input) => Object.assign(input as object, { text: 'of the question' }) !== null,
      },
    },
    approve: ({ input }) => (asked.push(input), 'yes'),
  });
  const run = pith.run('write');
  for await (const event of run) {
    if (event.type === 'tool-call' || event.type === 'approval-request') Object.assign(event.input as object, { text: 'of the reader' });
    if (event.type === 'tool-result') Object.assign(event.output as object, { kept: 'no' });
  }
  const input = { text: 'hi' };
  expect([asked, ran]).toEqual([
    [input, input],
    [input, input],
  ]);
  const sent = JSON.stringify(model.requests.at(-1));
  expect(sent).toContain('kept');
  expect(sent).not.toMatch(/of the|"no"/u);
});

/** A model that sends this part, whatever it is, and then says a word. */
function sending(part: unknown): EmbeddedModel {
  const end = { type: 'finish', finishReason: { unified: 'stop' } };
  const word = [{ type: 'text-delta', id: '1', delta: 'done' }, end];
  const answers = [[part, end], word];
  return {
    specificationVersion: 'v3',
    provider: 'own',
    modelId: 'odd',
    doStream: async () => ({ stream: Readable.from(answers.shift() ?? word) }),
  };
}

describe('U41 a model', () => {
  it.each([
    ['a tool call without the name of a tool', { type: 'tool-call', toolCallId: '1', toolName: 5, input: '{}' }],
    ["a call of 'write' without an id", { type: 'tool-call', toolName: 'write', input: '{}' }],
    ["a call of 'write' without an id", { type: 'tool-call', toolCallId: 7, toolName: 'write', input: '{}' }],
    ['a text-delta whose delta is not a text', { type: 'text-delta', id: '1', delta: {} }],
    ['a part that is a number', 5],
  ])('that sends %s has failed, and the error has its cure', async (what, part) => {
    const { pith } = await pithWith([], { model: sending(part) });
    await expect(pith.run('write').result).rejects.toMatchObject({
      code: 'model_failed',
      message: expect.stringContaining(`the model sent ${what}`),
      cure: 'correct what gives its answers, or choose another model',
    });
  });

  it('may send the input of a call as an object', async () => {
    const called = { type: 'tool-call', toolCallId: '1', toolName: 'write', input: { text: 'hi' } };
    const asked: unknown[] = [];
    const approve = ({ input }: Question) => (asked.push(input), 'yes' as const);
    const { pith } = await pithWith([], { model: sending(called), approve });
    expect(await pith.run('write').result).toMatchObject({ status: 'done', text: 'done' });
    expect(asked).toEqual([{ text: 'hi' }]);
  });
});

describe('U46 a run in the thread of the run that calls it', () => {
  const busy = { code: 'thread_busy', cure: 'use another thread, or wait until that run has ended' };

  it('is refused at once in a tool, as is removing the thread; one in another thread is not', async () => {
    const found: unknown[] = [];
    const tools = {
      nest: async () => {
        const runs = ['outer', 'inner'].map((thread) => pith.run('again', { thread }).result);
        found.push(...(await Promise.allSettled([...runs, pith.threads.remove('outer')])));
        return 'nested';
      },
    };
    const script = [{ calls: [{ name: 'nest', input: {} }] }, { text: 'inner' }, { text: 'outer' }, { text: 'after' }];
    const { pith } = await pithWith(script, { tools });
    expect(await pith.run('begin', { thread: 'outer' }).result).toMatchObject({ status: 'done', text: 'outer' });
    expect(found).toMatchObject([{ reason: busy }, { value: { status: 'done', text: 'inner' } }, { reason: busy }]);
    expect(await pith.run('more', { thread: 'outer' }).result).toMatchObject({ text: 'after' });
  });

  it('leaves the question open that is being asked', async () => {
    const found: unknown[] = [];
    const approve = async (question: Question) => {
      found.push(...(await Promise.allSettled([pith.run('again', { thread: question.thread }).result])));
      return 'yes' as const;
    };
    const { pith } = await pithWith([ask('hi'), { text: 'done' }], { approve });
    expect(await pith.run('write').result).toMatchObject({ status: 'done', text: 'done' });
    expect(found).toMatchObject([{ reason: busy }]);
  });
});

describe('U47 the error of a run', () => {
  const failing = (error: unknown) => pithWith([{ error } as never, { text: 'never' }]);

  it('is that which was thrown: what, where, why, the cure apart, whether to try again, and the cause', async () => {
    const cause = Object.assign(new Error('slow down'), { statusCode: 429, isRetryable: false, responseHeaders: { 'retry-after': '7' } });
    const { pith } = await failing(cause);
    const error = (await pith.run('hi').result.catch((thrown: unknown) => thrown)) as PithError;
    expect(error).toMatchObject({
      name: 'PithError',
      code: 'model_rate_limited',
      message: 'model scripted/scripted: the provider limits requests (429): slow down',
      where: 'scripted/scripted',
      cure: 'wait a little, check the quota, or use another model',
      statusCode: 429,
      retryAfterMs: 7000,
    });
    expect(error.cause).toBe(cause);
  });

  it('has the cause where a store fails, in a run as in a call of its own', async () => {
    const cause = new Error('the database is away');
    const store = { read: async () => [], append: () => Promise.reject(cause), list: () => Promise.reject(cause), remove: async () => {} };
    const { pith } = await pithWith([{ text: 'done' }], { store });
    const failure = { code: 'database_failed', retryable: true, cause, cure: expect.any(String) };
    await expect(pith.threads.list()).rejects.toMatchObject(failure);
    await expect(pith.run('hi').result).rejects.toMatchObject(failure);
  });

  it('has no secret where a provider repeats its key', async () => {
    const key = 'sk-canary-0123456789';
    const server = await startOpenAiServer();
    onTestFinished(() => server.close());
    server.script({ status: 400, error: { message: `${key} is not for this` } });
    const pith = await createPith({ model: 'openai/test-model', env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: server.url } });
    onTestFinished(() => pith.close());
    const error = inspect(await pith.run('hi').result.catch((thrown: unknown) => thrown), { depth: 9, showHidden: true });
    expect([error.includes('is not for this'), error.includes(key)]).toEqual([true, false]);
  });
});

it('U45 what is asked for in a thread comes in its order: removing it waits for the run before, not for that after', async () => {
  const asked = gate();
  const { model } = scriptedModel([{ text: 'first' }, { text: 'third' }]);
  const pith = await createPith({ model: async () => (await asked.opened, model) });
  onTestFinished(() => pith.close());
  const stop = new AbortController();
  const first = pith.run('one', { thread: 't' });
  const second = pith.run('two', { thread: 't', signal: stop.signal });
  const removed = pith.threads.remove('t');
  const third = pith.run('three', { thread: 't' });
  stop.abort();
  expect((await second.result).status).toBe('aborted'); // at once, before the first has begun
  asked.open();
  await Promise.all([first.result, removed]);
  expect((await third.result).text).toBe('third');
  expect(JSON.stringify(await pith.threads.messages('t'))).not.toContain('one');
});

it('U44 while somebody is asked, also by `resume`, the thread takes a new message, which answers no', async () => {
  const [asked, answered] = [gate(), gate()];
  const answers = [async () => 'later' as const, async () => (asked.open(), await answered.opened, 'yes' as const)];
  const { pith } = await pithWith([ask('hi'), { text: 'new' }], { approve: () => answers.shift()!() });
  expect(await pith.run('write', { thread: 't' }).result).toMatchObject({ status: 'waiting' });
  const resumed = pith.resume('t').result.catch((error: unknown) => error);
  await asked.opened;
  expect(await pith.run('never mind', { thread: 't' }).result).toMatchObject({ status: 'done', text: 'new' });
  answered.open();
  expect(await resumed).toMatchObject({ code: 'approval_answered' });
});

describe('U47 an argument of the wrong type', () => {
  const wrong = (message: unknown) => expect.objectContaining({ code: 'settings_invalid', message, cure: expect.any(String) });

  it('is refused before anything runs, as are ids that are not whole texts, or too long', async () => {
    const id = 'an id of at most 1000 characters, without control characters and lone surrogates';
    const { pith, model } = await pithWith([{ text: 'done' }]);
    const given: readonly (readonly [() => unknown, string])[] = [
      [() => pith.run(5 as never), 'run: the text is a number'],
      [() => pith.run({} as never), 'run: the text is an object'],
      [() => pith.run(null as never, { thread: 't' }), 'run: the text is null'],
      [() => pith.run('hi', { thread: 'a\0b' }), 'run: "a\\u0000b" cannot be a thread'],
      [() => pith.resume(undefined as never), 'resume: the thread is undefined'],
      [() => pith.run('hi', { thread: '\ud800' }), 'run: "\\ud800" cannot be a thread'],
      [() => pith.resume('\udfff'), 'resume: "\\udfff" cannot be a thread'],
      [() => pith.run('hi', { thread: 'x'.repeat(20e6) }), `run: "${'x'.repeat(100)}" cannot be a thread`],
      [() => pith.run('hi', { userId: 'a\ud801' }), `run: 'userId' must be ${id}`],
      [() => pith.run('hi', { userId: 'a\0b' }), `run: 'userId' must be ${id}`],
      [() => pith.run('hi', { userId: 'x'.repeat(1001) }), `run: 'userId' must be ${id}`],
      [() => pith.run('hi', { agent: '\udfff' }), `run: 'agent' must be ${id}`],
    ];
    for (const [call, message] of given) expect(call).toThrow(wrong(message));
    await expect(pith.threads.messages(undefined as never)).rejects.toEqual(wrong('threads.messages: the thread is undefined'));
    await expect(pith.threads.remove('')).rejects.toEqual(wrong('threads.remove: "" cannot be a thread'));
    await expect(pith.questions('a\ud800')).rejects.toEqual(wrong('questions: "a\\ud800" cannot be a thread'));
    for (const limit of ['x', 1.5, -1, 0])
      await expect(pith.threads.list(limit as never)).rejects.toMatchObject({ code: 'settings_invalid' });
    expect(model.requests).toEqual([]);
    expect((await pith.run('hi', { thread: 'x'.repeat(1000), userId: '日本👩‍🚀' }).result).status).toBe('done');
  });

  it.each([
    ['with NUL', { 'a\0b': '' }],
    ['that is a folder, too', { 'x/y': '', x: '' }],
    ['below another file', { x: '', 'x/y': '' }],
    ['that is too long', { ['n'.repeat(300)]: '' }],
  ])('is a skill with the name of a file %s', async (_, files) => {
    const skill = { id: 'letters', description: 'Writes letters.', body: 'Say ahoy.', files };
    await expect(pithWith([], { skills: [skill] })).rejects.toEqual(
      wrong(expect.stringMatching(/^skills: ".*" of 'letters' cannot be the name of a file there$/u)),
    );
    await expect(pithWith([], { skills: [{ ...skill, files: {}, id: 'a'.repeat(300) }] })).rejects.toEqual(
      wrong(expect.stringMatching(/^skills: 'a+' is not an id$/u)),
    );
  });
});

describe('U47 leaving', () => {
  it('a stream while it waits ends the run', async () => {
    const pith = await createPith({ model: hanging });
    onTestFinished(() => pith.close());
    const run = pith.run('hi');
    const stream = Readable.from(run.text);
    const [word] = (await stream.take(1).toArray()) as string[];
    expect([word, (await run.result).status]).toEqual(['one', 'aborted']);

    const other = pith.run('hi');
    const events = other[Symbol.asyncIterator]();
    for (let next = await events.next(); next.value?.type !== 'text-delta'; next = await events.next());
    const waiting = events.next();
    await events.return?.();
    expect([await waiting, (await other.result).status]).toEqual([{ done: true, value: undefined }, 'aborted']);
  });

  it('a run after its end changes nothing, and each reader gets all', async () => {
    const { pith } = await pithWith([{ text: 'all of it' }]);
    const run = pith.run('hi');
    await run.result;
    for await (const _ of run) break;
    const texts: string[] = [];
    for await (const text of run.text) texts.push(text);
    expect([texts.join(''), (await run.result).status]).toEqual(['all of it', 'done']);
  });
});

describe('U46 close', () => {
  it.each([
    ['a model that never answers', { model: hanging }, 'text-delta'],
    ['a tool that never answers', { tools: { hang: never } }, 'tool-call'],
    ['a question without an answer', { approve: never }, 'approval-request'],
    ['a schema that never answers', {}, 'turn-end'],
  ] as const)('takes at most a second with %s, and aborts the run', async (_, options, at) => {
    const script = 'tools' in options ? [{ calls: [{ name: 'hang', input: {} }] }] : at === 'turn-end' ? [{ text: '{}' }] : [ask('hi')];
    const { pith } = await pithWith(script, options);
    const jsonSchema = { input: () => ({ type: 'object' }) };
    const run = pith.run(
      'hi',
      at === 'turn-end' ? { output: { '~standard': { version: 1, vendor: 'own', validate: never, jsonSchema } } } : {},
    );
    for await (const event of run) {
      if (event.type !== at) continue;
      await closedInOneSecond(pith);
    }
    expect((await run.result).status).toBe('aborted');
  });

  it.each([
    ['a service that does not hear its signal', 'service', { runBackground: never }],
    ['an extension that never stops', 'tool', { getTools: () => [], stop: never }],
    ['both', 'service', { runBackground: never, stop: never }],
  ])('takes at most a second with %s', async (_, kind, members) => {
    class Own {
      readonly own = Object.assign(this, members);
    }
    const { pith } = await pithWith([], { extensions: [{ id: 'own', provides: [kind], extension: Own }], clock: fakeClock() });
    await expect(closedInOneSecond(pith)).resolves.toBeUndefined();
  });

  it('takes at most a second with an extension in a folder whose code never gives way, and ends its process', async () => {
    const folder = folderWith({
      'busy/manifest.yaml': 'id: busy\nprovides: [tool]\nentrypoint: main.ts\n',
      'busy/main.ts': `import { writeFileSync } from 'node:fs';
import { defineTool, z } from 'pith';
export default class Busy {
  constructor(private readonly context) {}
  getTools() {
    return [defineTool({ name: 'busy', description: 'Busy.', input: z.object({}), execute: () => {
      writeFileSync(this.context.dataDirectory + '/busy-now', '');
      for (;;);
    } })];
  }
}
`,
    });
    const store = path.join(folder, 'store');
    const { pith } = await pithWith([{ calls: [{ name: 'busy', input: {} }] }], { store, extensions: [path.join(folder, 'busy')] });
    const run = pith.run('hi');
    await until(() => readdirSync(store, { recursive: true, encoding: 'utf8' }).some((name) => name.endsWith('/busy-now')));
    expect(hosts()).not.toEqual([]);
    await closedInOneSecond(pith);
    expect((await run.result).status).toBe('aborted');
    await until(() => hosts().length === 0);
  });
});

/** Processes of extensions that this one has begun. */
function hosts(): readonly number[] {
  return familyOf(process.pid).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`${HOST_VARIABLE}=`);
    } catch {
      return false; // it has ended
    }
  });
}

/** A second of the timers passes, and no more. */
async function closedInOneSecond(pith: Pith): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const closed = pith.close();
    for (let ms = 0; ms < 1000; ms += 50) {
      for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
      await vi.advanceTimersByTimeAsync(50);
    }
    await within(10_000, closed);
  } finally {
    vi.useRealTimers();
  }
}
