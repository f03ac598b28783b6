import { createAnthropic } from '@ai-sdk/anthropic';
import type { LanguageModelV3StreamPart } from '@ai-sdk/provider';
import * as ai from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPith, type EmbeddedTool, type PithOptions, type Question } from 'pith/embed';
import { scriptedModel, type ScriptedStep } from 'pith/testing';
import { z } from 'zod';
import { startAnthropicServer } from '../../fixtures/anthropic-server.ts';

async function pithWith(script: readonly ScriptedStep[], options: PithOptions = {}) {
  const model = scriptedModel(script);
  const pith = await createPith({ model: model.model, ...options });
  onTestFinished(() => pith.close());
  return { pith, model };
}

/** What the model is told of one call of the tool, and what it was offered. */
async function called(tool: EmbeddedTool, input: Readonly<Record<string, string>> = {}) {
  const { pith, model } = await pithWith([{ calls: [{ name: 'one', input }] }, { text: 'done' }], { tools: { one: tool } });
  const results = [];
  for await (const event of pith.run('go')) if (event.type === 'tool-result') results.push(event);
  const [result] = results;
  return { result, offered: JSON.stringify(model.requests[0]), told: JSON.stringify(model.requests[1]) };
}

/** A Standard Schema as libraries other than zod have it, for an object with a `day`. */
const OWN = {
  '~standard': {
    version: 1,
    vendor: 'own',
    validate: (value: unknown) => {
      const { day } = value as { readonly day?: unknown };
      return typeof day === 'string' ? { value: { day: day.toUpperCase() } } : { issues: [{ message: 'must be a text', path: ['day'] }] };
    },
    jsonSchema: { input: () => ({ type: 'object', properties: { day: { type: 'string' } }, required: ['day'] }) },
  },
} as const;

describe('U40 a function as a tool', () => {
  it('may answer with several states, too', async () => {
    const { told } = await called(async function* () {
      yield 'looking';
      yield 'found';
    });
    expect([told.includes('found'), told.includes('looking')]).toEqual([true, false]);
  });

  it.each([
    ['Response', () => new Response('text')],
    ['WeakMap', () => new WeakMap()],
    ['Map Iterator', () => new Map([[1, 2]]).values()],
  ])('is told that a %s is not an answer', async (name, tool) => {
    const { result } = await called(tool);
    expect(result).toMatchObject({
      ok: false,
      error: {
        code: 'not_serialisable',
        message: expect.stringContaining(`the answer is of the class ${name}, of which JSON says nothing`),
      },
    });
  });
});

it('U40 a tool that takes too long is named, with what sets its time', async () => {
  const { result } = await called({ timeoutMs: 5, execute: () => new Promise<never>(() => undefined) });
  expect(result?.error).toEqual({
    code: 'tool_timeout',
    message: expect.stringContaining("the tool 'one' of 'embedded' took longer than 5 ms and was cut, as its timeoutMs says"),
  });
});

describe('U40 a model for everything', () => {
  const refused = (where: string) => ({
    code: 'settings_invalid',
    message: expect.stringMatching(new RegExp(`^${where}: 'other/one' would be ignored`, 'u')),
    cure: expect.stringContaining('leave it out'),
  });

  it('is not changed by an agent or a run, which is said', async () => {
    const { model } = scriptedModel([{ text: 'done' }]);
    const agent = { id: 'first', model: 'other/one' };
    await expect(createPith({ model, agents: [agent] })).rejects.toMatchObject(refused('agents.first.model'));
    const { pith } = await pithWith([{ text: 'done' }], { agents: [{ ...agent, model: 'default' }] });
    expect(() => pith.run('hi', { model: 'other/one' })).toThrow(expect.objectContaining(refused('run.model')));
    expect(await pith.run('hi', { model: 'scripted/scripted' }).result).toMatchObject({ status: 'done' });
  });
});

describe('U40 tools of the AI SDK', () => {
  it('U48 and its models are taken as `ai` and a provider make them, by their types too', async () => {
    const server = await startAnthropicServer();
    onTestFinished(() => server.close());
    const tools = {
      look: ai.tool({
        description: 'Looks.',
        inputSchema: z.object({ at: z.string() }),
        execute: ({ at }, { toolCallId, abortSignal }) => ({ seen: at, called: toolCallId !== '' && abortSignal instanceof AbortSignal }),
      }),
      weigh: ai.tool({
        inputSchema: ai.jsonSchema<{ kg: number }>({ type: 'object', properties: { kg: { type: 'number' } }, required: ['kg'] }),
        execute: async ({ kg }) => kg * 1000,
      }),
      guess: ai.dynamicTool({ inputSchema: z.object({}), execute: async () => 'a guess' }),
    };
    const calls = [
      { name: 'look', input: { at: 'sea' } },
      { name: 'weigh', input: { kg: 2 } },
      { name: 'guess', input: {} },
    ];
    server.script({ calls }, { text: 'done' });
    const provider = createAnthropic({ baseURL: server.url, apiKey: 'own' });
    await using pith = await createPith({ model: provider('claude-test'), tools });
    const run = pith.run('go');
    const outputs: unknown[] = [];
    for await (const event of run) if (event.type === 'tool-result') outputs.push(event.output);
    expect(outputs).toEqual(expect.arrayContaining([{ seen: 'sea', called: true }, 2000, 'a guess']));
    expect(await run.result).toMatchObject({ status: 'done', text: 'done' });
  });

  it('U48 so is the model for tests that `ai` has', async () => {
    const usage = {
      inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    const chunks: LanguageModelV3StreamPart[] = [
      { type: 'stream-start', warnings: [] },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'mocked' },
      { type: 'text-end', id: '1' },
      { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
    ];
    const model = new MockLanguageModelV3({ doStream: async () => ({ stream: ai.simulateReadableStream({ chunks }) }) });
    await using pith = await createPith({ model });
    expect(await pith.run('hi').result).toMatchObject({ status: 'done', text: 'mocked', usage: { inputTokens: 5, outputTokens: 1 } });
  });

  it('may answer with several states: the last counts', async () => {
    const tool = {
      async *execute() {
        yield { status: 'looking' };
        yield { status: 'found' };
      },
    };
    expect((await called(tool)).result).toMatchObject({ ok: true, output: { status: 'found' } });
  });

  it.each([
    ['a text', { type: 'text', value: 'short' }, { ok: true, output: 'short' }],
    ['JSON', { type: 'json', value: { a: 1 } }, { ok: true, output: { a: 1 } }],
    ['an error', { type: 'error-text', value: 'no luck' }, { ok: false, error: { code: 'tool_failed', message: 'no luck' } }],
    [
      'several parts',
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { ok: true, output: 'a\nb' },
    ],
  ])('say what the model gets: %s', async (_, given, wanted) => {
    const seen: unknown[] = [];
    const tool = { execute: () => ({ secret: 'long' }), toModelOutput: (options: object) => (seen.push(options), given) };
    const { result, told } = await called(tool as EmbeddedTool);
    expect(result).toMatchObject(wanted);
    expect(seen).toMatchObject([{ input: {}, output: { secret: 'long' } }]);
    expect(told).not.toContain('long');
  });

  it('U47 may give states that are all there at once, without end: its run still hears the signal', async () => {
    const stop = new AbortController();
    let given = 0;
    const execute = async function* () {
      setImmediate(() => stop.abort());
      while (given < 100_000) yield (given += 1);
    };
    const { pith } = await pithWith([{ calls: [{ name: 'one', input: {} }] }, { text: 'done' }], { tools: { one: { execute } } });
    expect(await pith.run('go', { signal: stop.signal }).result).toMatchObject({ status: 'aborted' });
    expect(given).toBeLessThan(100_000);
  });

  it('may have schemas with checks of their own, and what zod alone cannot say', async () => {
    const jsonSchema = {
      type: 'object',
      if: {},
      properties: { day: { $ref: '#/definitions/Day' } },
      definitions: { Day: { type: 'string' } },
    };
    const validate = (value: unknown) => ({ success: true, value: { ...(value as object), checked: true } });
    const echo = (input: never) => input;
    const own = await called({ inputSchema: { jsonSchema, validate }, execute: echo }, { day: 'monday' });
    expect(own.result).toMatchObject({ ok: true, output: { day: 'monday', checked: true } });
    expect(own.offered).toContain('day');
    const lazy = await called(
      { inputSchema: () => z.object({ day: z.coerce.date() }), execute: ({ day }: { day: Date }) => day.getTime() },
      { day: '1970-01-02' },
    );
    expect(lazy.result).toMatchObject({ ok: true, output: 86_400_000 });
  });

  it('U48 take any Standard Schema that gives JSON Schema', async () => {
    const right = await called({ inputSchema: OWN, execute: ({ day }: { day: string }) => day }, { day: 'monday' });
    expect(right.result).toMatchObject({ ok: true, output: 'MONDAY' });
    expect(right.offered).toContain('"required":["day"]');
    const wrong = await called({ inputSchema: OWN, execute: () => 'never' });
    expect(wrong.result).toMatchObject({
      ok: false,
      error: { code: 'tool_input_invalid', message: expect.stringContaining('must be a text') },
    });
  });

  it('U46 whose check fails refuse the call, and leave no rejection unhandled', async () => {
    const unhandled: unknown[] = [];
    const heard = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', heard);
    onTestFinished(() => void process.off('unhandledRejection', heard));
    const validate = () => Promise.reject(new Error('no connection'));
    const { result } = await called({ inputSchema: { jsonSchema: { type: 'object' }, validate }, execute: () => 'never' });
    expect(result).toMatchObject({ ok: false, error: { message: expect.stringContaining('no connection') } });
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  });

  it('give their name up for a tool that ships', async () => {
    const skill = { id: 'letters', description: 'Writes letters: use for letters.', body: 'Say ahoy.' };
    const { pith, model } = await pithWith([{ calls: [{ name: 'read_skill', input: { skill_id: 'letters' } }] }, { text: 'done' }], {
      skills: [skill],
      tools: { read_skill: () => 'mine' },
    });
    await pith.run('go').result;
    expect(JSON.stringify(model.requests[0])).toContain('embedded__read_skill');
    expect(JSON.stringify(model.requests[1])).toContain('Say ahoy.');
  });
});

describe('U48 structured output', () => {
  it('is never a part of the answer: an object that does not match is asked for again', async () => {
    const { pith, model } = await pithWith([{ text: '{"amount":5}' }, { text: '{"amount":5,"currency":"EUR"}' }]);
    const output = z.union([z.number(), z.object({ amount: z.number(), currency: z.string() })]);
    expect((await pith.run('a price', { output }).result).output).toEqual({ amount: 5, currency: 'EUR' });
    expect(model.requests).toHaveLength(2);
  });

  it('is checked by any Standard Schema, and asked for again by its words', async () => {
    const { pith, model } = await pithWith([{ text: '{}' }, { text: '{"day":"monday"}' }]);
    expect((await pith.run('a day', { output: OWN }).result).output).toEqual({ day: 'MONDAY' });
    expect(JSON.stringify(model.requests[1])).toContain('day: must be a text');
  });

  // A regular expression that goes back needs minutes for each, in which nothing else runs.
  it.each([
    ['a fence that never ends', `\`\`\`json${'\n'.repeat(4000)}x`],
    ['brackets that never end', '['.repeat(100_000)],
  ])('is asked for again after %s, at once', async (_, text) => {
    const { pith } = await pithWith([{ text }, { text: 'The day:\n```\n{"day":"monday"}\n```\nand [more]' }]);
    expect((await pith.run('a day', { output: OWN }).result).output).toEqual({ day: 'MONDAY' });
  });

  it.each([
    ['whose check throws', { '~standard': { ...OWN['~standard'], validate: () => JSON.parse('{') as never } }],
    ['without JSON Schema', { '~standard': { version: 1, vendor: 'own', validate: OWN['~standard'].validate } }],
    ['that cannot be checked', { type: 'object', if: {} }],
  ])('by a schema %s fails with a code and the cure', async (_, output) => {
    const { pith } = await pithWith([{ text: '{}' }]);
    await expect(pith.run('a day', { output }).result).rejects.toMatchObject({
      code: 'settings_invalid',
      message: expect.stringContaining('output: '),
      cure: expect.any(String),
    });
  });
});

describe('U44 needsApproval', () => {
  const asks = async (needsApproval: unknown) => {
    const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }, { text: 'end' }]);
    const questions: Question[] = [];
    const tools = { pay: { needsApproval, execute: () => 'paid' } } as PithOptions['tools'] & object;
    const pith = await createPith({ model: model.model, tools, approve: (question) => (questions.push(question), 'no') });
    onTestFinished(() => pith.close());
    await pith.run('go').result;
    return questions.map(({ details }) => details);
  };

  it.each([
    ['false', () => false, []],
    ['true', () => true, [undefined]],
    ['a text', () => 'It costs 5.', ['It costs 5.']],
    ['nothing', () => undefined, ['needsApproval gave undefined, neither true nor false']],
    ['null', async () => null, ['needsApproval gave null, neither true nor false']],
    ['0', () => 0, ['needsApproval gave 0, neither true nor false']],
    ['an error', () => Promise.reject(new Error('no rates')), ['needsApproval failed: no rates']],
  ])('U44 that gives %s asks unless that is false', async (_, needsApproval, details) => {
    expect(await asks(needsApproval)).toEqual(details);
  });

  it('U44 has a type that refuses a forgotten return', () => {
    // @ts-expect-error: it returns nothing
    const forgotten: EmbeddedTool = { needsApproval: (input: { amount: number }) => void (input.amount > 10), execute: String };
    const given: EmbeddedTool = { needsApproval: async (input: { amount: number }) => input.amount > 10, execute: String };
    expect([forgotten, given]).toHaveLength(2);
  });
});

it("U48 the AI SDK's toolCallId is the id that the model and the events have", async () => {
  const ids: unknown[] = [];
  const model = scriptedModel([{ calls: [{ name: 'look', input: {} }] }, { text: 'end' }]);
  const look = { execute: (_: unknown, { toolCallId }: { toolCallId: string }) => (ids.push(toolCallId), 'seen') };
  const pith = await createPith({ model: model.model, tools: { look } });
  onTestFinished(() => pith.close());
  for await (const event of pith.run('go')) if (event.type === 'tool-call') ids.push(event.id);
  expect(ids).toHaveLength(2);
  expect(ids[0]).toBe(ids[1]);
});

it.each([
  [
    'a generator',
    {
      *execute() {
        yield 1;
        yield 2;
      },
    },
    '2',
  ],
  ['toModelOutput of null', { execute: String, toModelOutput: () => null }, 'toModelOutput gave what is not an output'],
  [
    'a file',
    { execute: String, toModelOutput: () => ({ type: 'content', value: [{ type: 'media', data: 'AA==', mediaType: 'application/pdf' }] }) },
    '[a file was left out: application/pdf]',
  ],
  ['an error', { execute: () => new Response() }, 'of the class Response'],
])('U48 the answer of a tool in words: %s', async (_, tool, wanted) => {
  const model = scriptedModel([{ calls: [{ name: 'look', input: {} }] }, { text: 'end' }]);
  const pith = await createPith({ model: model.model, tools: { look: tool as EmbeddedTool } });
  onTestFinished(() => pith.close());
  const results: unknown[] = [];
  for await (const event of pith.run('go')) if (event.type === 'tool-result') results.push(event.ok ? event.output : event.error?.message);
  expect(results.map(String)).toEqual([expect.stringContaining(wanted)]);
});
