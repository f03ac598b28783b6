import { expect, it, onTestFinished } from 'vitest';
import { createPith, type PithOptions } from 'pith/embed';
import { fakeClock, scriptedModel, type ScriptedStep } from 'pith/testing';
import { z } from 'zod';
import { gate, passed } from '../../waiting.ts';

const usage = { inputTokens: 1000, outputTokens: 100 };
const settings = { prices: { 'scripted/scripted': { input: 10, output: 100 } } }; // 0.02 dollars a step
const LOOK: ScriptedStep = { calls: [{ name: 'look', input: {} }], usage };
const output = z.object({ city: z.string() });

async function pithWith(script: readonly ScriptedStep[], options: PithOptions = {}) {
  const model = scriptedModel(script);
  const pith = await createPith({ model: model.model, tools: { look: () => 'seen' }, ...options });
  onTestFinished(() => pith.close());
  return { pith, model };
}

it('U47 the cost of a run is that of the prices, and null without one', async () => {
  const priced = await pithWith([LOOK, { text: 'ok', usage }], { settings });
  expect((await priced.pith.run('hi').result).cost).toEqual({ amount: expect.closeTo(0.04, 6), currency: 'USD' });
  const unpriced = await pithWith([{ text: 'ok', usage }]);
  expect(await unpriced.pith.run('hi').result).toMatchObject({ usage, cost: null });
});

it('U47 a limit of cost ends a run before the step beyond it', async () => {
  const { pith, model } = await pithWith([LOOK, LOOK, LOOK], { settings, limits: { cost: 0.04 } });
  expect(await pith.run('hi').result).toMatchObject({ status: 'limit', limit: 'cost', cost: { amount: expect.closeTo(0.04, 6) } });
  expect(model.requests).toHaveLength(2);
});

it('U47 a limit of cost cuts an answer that runs beyond it', async () => {
  const { pith } = await pithWith([{ text: 'word '.repeat(1000), usage }], { settings });
  const limits = { cost: 0.01 }; // 100 tokens of output
  expect(await pith.run('go', { limits }).result).toMatchObject({ status: 'limit', usage: { outputTokens: expect.any(Number) } });
});

it.each([
  ['left out', { cost: undefined as never }],
  ['larger', { cost: 5, steps: 10 }],
])('U47 the smaller of two limits holds: that of the run is %s', async (_, limits) => {
  const { pith, model } = await pithWith([LOOK, LOOK, LOOK], { settings, limits: { cost: 0.04 } });
  expect(await pith.run('hi', { limits }).result).toMatchObject({ status: 'limit' });
  expect(model.requests).toHaveLength(2);
});

it('U47 a limit of cost that cannot be kept is refused before anything is sent', async () => {
  const { pith, model } = await pithWith([{ text: 'ok' }]);
  await expect(pith.run('hi', { limits: { cost: 1 } }).result).rejects.toMatchObject({
    code: 'settings_invalid',
    message: expect.stringContaining("the price of 'scripted/scripted' is not known"),
  });
  expect(model.requests).toEqual([]);
});

it('U47 a message uses none of its time while it waits for its thread', async () => {
  const clock = fakeClock();
  const [began, ended] = [gate(), gate()];
  const look = async () => (began.open(), await ended.opened, 'seen');
  const { pith } = await pithWith([LOOK, { text: 'first' }, { text: 'second' }], { clock, tools: { look } });
  const first = pith.run('one', { thread: 't' });
  const second = pith.run('two', { thread: 't', limits: { ms: 5000 } });
  await began.opened;
  await clock.advance(15_000);
  ended.open();
  expect([await first.result, await second.result]).toMatchObject([{ text: 'first' }, { status: 'done', text: 'second' }]);
});

it('U47 without limits, too, a run ends whose model or check of output never comes', async () => {
  const never = () => new Promise<never>(() => {});
  const clock = fakeClock();
  const modelless = await createPith({ model: never, clock });
  onTestFinished(() => modelless.close());
  const failed = modelless.run('hi').result.catch((error: unknown) => error);
  expect(await passed(clock, failed)).toMatchObject({ code: 'model_failed', message: expect.stringContaining('no model within 60 s') });
  const endless = { '~standard': { version: 1, vendor: 'own', validate: never, jsonSchema: { input: () => ({}), output: () => ({}) } } };
  const { pith } = await pithWith([{ text: '5' }], { clock });
  expect(await passed(clock, pith.run('hi', { output: endless }).result)).toMatchObject({ status: 'limit', limit: 'ms' });
});

it('U47 what agents cost that a run calls counts against its limit', async () => {
  const delegate: ScriptedStep = { calls: [{ name: 'delegate_task', input: { agent_id: 'b', task: 'Look.' } }], usage };
  const { pith, model } = await pithWith([delegate, LOOK, LOOK, { text: 'never' }], {
    settings,
    agents: [
      { id: 'a', delegatesTo: ['b'] },
      { id: 'b', usesTools: ['look'] },
    ],
    limits: { cost: 0.06 },
  });
  expect(await pith.run('hi').result).toMatchObject({ status: 'limit', cost: { amount: expect.closeTo(0.06, 6) } });
  expect(model.requests).toHaveLength(3);
});

it.each([
  ['steps', { steps: 2 }, 2],
  ['tokens', { tokens: 2200 }, 2],
  ['cost', { cost: 0.04 }, 2],
  ['more than they need', { steps: 3, tokens: 10_000, cost: 1 }, 3],
] as const)('U47 answers that are asked for again share the limits of the run: %s', async (_, limits, requests) => {
  const { pith, model } = await pithWith(
    [
      { text: 'Oslo', usage },
      { text: 'Oslo!', usage },
      { text: '{"city":"Oslo"}', usage },
    ],
    { settings },
  );
  const ended = await pith.run('a city', { output, limits }).result;
  const [limit] = Object.keys(limits);
  expect(ended).toMatchObject(requests === 3 ? { status: 'done', limit: null } : { status: 'limit', limit, output: undefined });
  expect(model.requests).toHaveLength(requests);
});

it('U47 the time of a run is shared by its turns, and goes on after a question; the clock is that of the program', async () => {
  const clock = fakeClock();
  const asking = { wait: { description: 'Waits.', needsApproval: true, execute: () => clock.advance(600) } };
  const { pith, model } = await pithWith(
    [{ calls: [{ name: 'wait', input: {} }] }, { calls: [{ name: 'wait', input: {} }] }, { text: 'never' }],
    { clock, tools: asking, approve: () => 'yes', limits: { ms: 1000 } },
  );
  expect(await pith.run('hi').result).toMatchObject({ status: 'limit', limit: 'ms' });
  expect(model.requests).toHaveLength(2);
});

it('U47 a call that was asked about counts once', async () => {
  const ask: ScriptedStep = { calls: [{ name: 'ask', input: {} }] };
  const tools = { ask: { description: 'Asks.', needsApproval: true, execute: () => 'done' } };
  const { pith } = await pithWith([ask, { text: 'Oslo' }, ask, { text: '{"city":"Oslo"}' }], {
    tools,
    approve: () => 'yes',
    limits: { toolCalls: 2 },
  });
  expect(await pith.run('a city', { output }).result).toMatchObject({ status: 'done', output: { city: 'Oslo' } });
});

const never = () => new Promise<never>(() => undefined);
const ownSchema = (validate: () => unknown) => ({
  '~standard': { version: 1, vendor: 'own', validate, jsonSchema: { input: () => ({ type: 'object' }) } },
});
it.each([
  ['a function that gives the model', { model: never }, {}, ''],
  ['a check of the output', {}, { output: ownSchema(never) }, '{}'],
  ['a store', { store: { read: never, append: never, list: never, remove: never } }, {}, ''],
])('U47 the time of a run is over while it waits for %s', async (_, options: PithOptions, asked, text) => {
  const clock = fakeClock();
  const { pith } = await pithWith([{ text: '{}' }], { clock, limits: { ms: 500 }, ...options });
  expect(await passed(clock, pith.run('hi', asked).result, 100)).toMatchObject({ status: 'limit', limit: 'ms', text, output: undefined });
  expect(clock.now() - Date.UTC(2026, 0, 1)).toBeGreaterThanOrEqual(500);
});

it.each([
  ['steps', { limits: { steps: 2 } }],
  ['toolCalls', { limits: { toolCalls: 2 } }],
  ['tokens', { limits: { tokens: 2200 } }],
  ['steps', { agents: [{ id: 'a', limits: { steps: 2 } }] }],
] as const)('U47 says which limit ended a run: %s of %j', async (limit, options) => {
  const { pith } = await pithWith([LOOK, LOOK, LOOK], options);
  expect(await pith.run('hi').result).toMatchObject({ status: 'limit', limit });
});

it('U47 limits above the defaults of agents hold for agents that have none', async () => {
  const { pith } = await pithWith([...Array.from({ length: 24 }, () => LOOK), { text: 'done' }], { limits: { steps: 30 } });
  expect((await pith.run('hi').result).status).toBe('done');
});
