import type { Message, PithError } from 'pith';
import { describe, expect, it } from 'vitest';
import { assistant, callOf, leftBehind, turnOf, user } from './records.ts';
import { agent, call, createWorld, resultsIn, storedRows, type World } from './world.ts';

const asks = (...ids: string[]): Message => ({
  role: 'assistant',
  content: ids.map((toolCallId) => ({ type: 'tool-call' as const, toolCallId, toolName: 'read', input: {} })),
});
const answers = (...ids: string[]): Message => ({
  role: 'tool',
  content: ids.map((toolCallId) => ({
    type: 'tool-result' as const,
    toolCallId,
    toolName: 'read',
    output: { type: 'text' as const, value: 'a' },
  })),
});

/** A thread of these messages, all of one turn that has ended; a text is a row as it is. */
async function threadOf(messages: readonly (Message | string)[], script: readonly { text: string }[] = [{ text: 'fine' }]) {
  const world = await createWorld({ script });
  const { store, writer } = world;
  const thread = { id: 'thread', agentId: 'main', date: '2025-12-31', title: 't' };
  await writer.beginTurn({ thread, turn: turnOf('T', 'thread', { agent: agent('main'), policy: {} }), messages: [user('do it')] });
  await writer.setState('T', 'done', { inputTokens: 0, outputTokens: 0 });
  await store.write((statement) => {
    for (const [at, message] of messages.entries())
      statement(
        'INSERT INTO messages VALUES (?, ?, ?, ?, NULL)',
        'thread',
        at + 2,
        'T',
        typeof message === 'string' ? message : JSON.stringify(message),
      );
  });
  return world;
}
const check = ({ kernel }: World, repair = false) => kernel.agents.checkThread('thread', { repair });
const rows = ({ store }: World) => store.all('SELECT seq FROM messages WHERE thread = ? ORDER BY seq', 'thread').map(({ seq }) => seq);

describe('V1 threads check finds what is wrong with a thread and mends it', () => {
  it.each<readonly [string, readonly (Message | string)[], readonly (readonly [number, string])[], roles: string]>([
    ['a call without an answer', [asks('a')], [[2, "the call of 'read' has no answer"]], 'user assistant tool'],
    ['one of two', [asks('a', 'b'), answers('b'), user('on')], [[2, "the call of 'read' has no answer"]], 'user assistant tool tool user'],
    ['a second answer', [asks('a'), answers('a', 'a')], [[3, '1 result answers no open call']], 'user assistant tool'],
    ['answers of nothing', [assistant('so'), answers('x', 'y')], [[3, '2 results answer no open call']], 'user assistant'],
    ['a row that is cut', [assistant('so'), '{"role":"assis'], [[3, 'cannot be read']], 'user assistant'],
    ['a row that is no message', ['[]', assistant('so')], [[2, 'cannot be read']], 'user assistant'],
    ['a role that there is not', ['{"role":"robot","content":[]}', assistant('so')], [[2, 'cannot be read']], 'user assistant'],
    ['a part that is none', ['{"role":"assistant","content":[null]}'], [[2, 'cannot be read']], 'user'],
    [
      'a call without a name',
      ['{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","input":{}}]}'],
      [[2, 'cannot be read']],
      'user',
    ],
    [
      'a result without an output',
      [asks('a'), '{"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"read"}]}'],
      [
        [2, 'has no answer'],
        [3, 'cannot be read'],
      ],
      'user assistant tool',
    ],
  ])('%s', async (_, messages, faults, roles) => {
    const world = await threadOf(messages);
    const before = storedRows(world);
    const found = await check(world);
    expect(found).toEqual({ faults: faults.map(([message, what]) => ({ message, what: expect.stringContaining(what) })), repaired: false });
    expect(storedRows(world)).toEqual(before);
    expect(await check(world, true)).toEqual({ ...found, repaired: true });
    expect((await world.history()).map(({ role }) => role).join(' ')).toBe(roles);
    expect(rows(world)).toEqual(roles.split(' ').map((_each, at) => at + 1));
    expect(await check(world, true)).toEqual({ faults: [], repaired: false });
    expect((await world.run('go on')).end).toMatchObject({ reason: 'done', text: 'fine' });
  });

  it('a conversation with these faults goes on without being mended, where its rows can be read, and is compacted', async () => {
    const world = await threadOf(
      [asks('a', 'b'), answers('b'), user('on'), assistant('so'), answers('x')],
      [{ text: 'fine' }, { text: 'SUMMARY' }],
    );
    expect((await world.run('go on')).end).toMatchObject({ reason: 'done', text: 'fine' });
    const sent = world.model.requests[0]!.messages;
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'user']);
    expect(resultsIn(sent[2])).toHaveLength(2);
    await world.kernel.agents.compact('thread');
    expect(JSON.stringify((await world.history())[0])).toContain('SUMMARY');
  });

  it('a call without an answer in what stays does not keep what is before it from being shortened', async () => {
    const world = await threadOf([assistant('so '.repeat(400)), user('on'), asks('a', 'b'), answers('b')], [{ text: 'SUMMARY' }]);
    await world.kernel.agents.compact('thread');
    expect((await world.history()).map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'tool']);
  });

  it.each([
    ['the agent of a turn', `UPDATE turnagents SET agent = '[]'`, "the agent of turn 'T'"],
    ['what a turn may do', `UPDATE turnagents SET policy = 'x'`, "the policy of turn 'T'"],
    ['the input of a call', `UPDATE calls SET input = '{'`, "the input of call 0/0 of turn 'T'"],
    ['the result of a call', `UPDATE calls SET result = '7'`, "the result of call 0/0 of turn 'T'"],
  ])('%s of a turn that has not ended ends it', async (_, damage, what) => {
    const world = await createWorld({ script: [{ text: 'fine' }] });
    await leftBehind(world, agent('main'), [callOf('T', 0, 0, { state: 'started', effect: 'write' })]);
    await world.store.write((statement) => void statement(damage));
    expect((await world.run('go on')).end.reason).toBe('error');
    const { faults } = await check(world, true);
    expect(faults[0]).toEqual({ message: null, what: expect.stringContaining(what) });
    expect(await check(world)).toEqual({ faults: [], repaired: false });
    expect((await world.run('go on')).end).toMatchObject({ reason: 'done', text: 'fine' });
  });

  it('leaves the open calls of a turn that waits for a person', async () => {
    const world = await createWorld({ tools: { ask: { needsApproval: 'always' } }, script: [call('ask'), { text: 'done' }] });
    expect((await world.run('ask')).end.reason).toBe('awaiting_approval');
    expect(await check(world, true)).toEqual({ faults: [], repaired: false });
    await world.answer('once');
    expect((await world.resume()).end).toMatchObject({ reason: 'done', text: 'done' });
  });

  it('finds nothing where an id has a lone surrogate: the call goes on after its answer', async () => {
    const script = [{ calls: [{ name: 'ask', input: {}, id: 'a\ud83d' }] }, { text: 'done' }];
    const world = await createWorld({ tools: { ask: { needsApproval: 'always' } }, script });
    await world.run('ask');
    await world.answer('once');
    expect((await world.resume()).end).toMatchObject({ reason: 'done', text: 'done' });
    expect([world.calls.length, await check(world)]).toEqual([1, { faults: [], repaired: false }]);
  });

  it('names a thread that there is not', async () => {
    const world = await createWorld();
    const failed: unknown = await check(world).catch((error: unknown) => error);
    expect((failed as PithError).code).toBe('thread_unknown');
  });
});

describe('V1 a call and its answer stay together', () => {
  it.each([
    ['a store', 0],
    ['a slow store', 20],
  ])('by %s that refuses a question: the calls are answered, those that ran with their result', async (_, ticks) => {
    const world = await createWorld({
      tools: { look: { run: () => 'seen' }, ask: { needsApproval: 'always', effect: 'write' } },
      script: [
        {
          calls: [
            { name: 'look', input: {} },
            { name: 'ask', input: {} },
          ],
        },
        { text: 'fine' },
      ],
    });
    const { writer } = world.threads;
    world.threads.writer = (fence) => {
      const real = writer(fence);
      const finishCall: typeof real.finishCall = async (...given) => {
        for (let tick = 0; tick < ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve));
        await real.finishCall(...given);
      };
      return { ...real, finishCall };
    };
    await world.store.write(
      (statement) => void statement(`CREATE TRIGGER broken BEFORE INSERT ON approvals BEGIN SELECT RAISE(ABORT, 'no'); END`),
    );
    const { end } = await world.run('do it');
    expect(end).toMatchObject({ reason: 'error', error: { code: 'database_failed' } });
    expect(end.error?.message).not.toMatch(/INSERT|approvals/u);
    const stored = await world.history();
    expect(resultsIn(stored.at(-1)).map(({ toolName, output }) => [toolName, output.type])).toEqual([
      ['look', 'text'],
      ['ask', 'error-json'],
    ]);
    expect(await check(world)).toEqual({ faults: [], repaired: false });
    expect((await world.run('go on')).end.text).toBe('fine');
  });
});
