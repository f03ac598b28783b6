import { describe, expect, it } from 'vitest';
import type { JsonValue, ToolCall } from '../../../core/contract/index.ts';
import { createWorld, storedRows, type World } from './world.ts';

/** Another process has waited for the lease of this one, which stood still, and has the thread now. Returns what is stored then. */
async function stolen(world: World): Promise<unknown> {
  await world.store.write((statement) => void statement(`UPDATE leases SET owner = 'thief'`));
  return storedRows(world);
}

const call = (name: string, input: JsonValue = {}) => ({ text: 'Looking.', calls: [{ name, input }] });
const busy = { reason: 'error', error: { code: 'thread_busy', message: expect.stringContaining("'thread'") } };

describe('a turn whose thread another process has taken', () => {
  it.each(['read', 'write'] as const)('B8: stores nothing more when its %s tool ends', async (effect) => {
    let before: unknown;
    const world = await createWorld({
      tools: { t: { effect, run: async () => ((before = await stolen(world)), 'ok') } },
      script: [call('t')],
    });
    expect((await world.run('go')).end).toMatchObject(busy);
    expect(storedRows(world)).toEqual(before);
  });

  it.each([
    ['an answer', { text: 'done' }],
    ['a call', call('t')],
    ['a call that a person is asked about', call('risky')],
    ['a failed answer', { error: new Error('broken') }],
  ])('B8: stores nothing more when its model answers: %s', async (_what, reply) => {
    let before: unknown;
    const world = await createWorld({
      tools: { t: { run: () => 'ok' }, risky: { needsApproval: 'always', run: () => 'ok' } },
      script: [
        async () => {
          before = await stolen(world);
          return reply as never;
        },
      ],
    });
    expect((await world.run('go')).end).toMatchObject({ reason: 'error' });
    expect(storedRows(world)).toEqual(before);
  });

  it('B8: begins no turn, and ends no open question, when it was taken while it prepared', async () => {
    let before: unknown;
    let asked = 0;
    const world = await createWorld({
      extensions: {
        ext: { tools: { risky: { needsApproval: 'always', run: () => 'ok' } } },
        slow: { context: { priority: 1, get: async () => ((asked += 1) === 2 && (before = await stolen(world)), 'now') } },
      },
      script: [call('risky')],
    });
    await world.run('go');
    expect((await world.run('something else')).end).toMatchObject(busy);
    expect(storedRows(world)).toEqual(before);
    expect(await world.approvals.list()).toHaveLength(1);
  });

  it('B8: stores nothing of what a turn that it called has used', async () => {
    let before: unknown;
    const run = async (_input: JsonValue, { turn, idempotencyKey }: ToolCall) =>
      (await world.collect({ input: 'do it', threadId: 'child', parent: turn, key: idempotencyKey })).end.reason;
    const world: World = await createWorld({
      tools: { ask: { run } },
      script: [
        call('ask'),
        async () => {
          await world.store.write((statement) => void statement(`UPDATE leases SET owner = 'thief' WHERE name = 'thread:thread'`));
          before = world.store.all(`SELECT * FROM turns WHERE thread = 'thread'`);
          return { text: 'done' };
        },
      ],
    });
    expect((await world.run('go')).end).toMatchObject(busy);
    expect(world.store.all(`SELECT * FROM turns WHERE thread = 'thread'`)).toEqual(before);
  });
});

describe('compacting by hand', () => {
  it.each([
    ['when its summary comes', async () => ({ text: 'SHORT' })],
    [
      'as soon as it learns of it',
      (world: World) => {
        void world.clock.advance(1_000); // the lease is to be renewed
        return new Promise<never>(() => undefined);
      },
    ],
  ])('B8 C2: stores nothing when another process has taken the thread, and ends %s', async (_when, summary) => {
    let before: unknown;
    const summarises = async () => ((before = await stolen(world)), summary(world));
    const world: World = await createWorld({ script: [{ text: 'one' }, { text: 'two' }, summarises] });
    await world.run('word '.repeat(500));
    await world.run('short');
    await expect(world.kernel.agents.compact('thread')).rejects.toMatchObject({ code: 'thread_busy', where: 'thread' });
    expect(storedRows(world)).toEqual(before);
  });
});
