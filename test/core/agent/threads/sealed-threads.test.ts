import type { Message } from 'pith';
import { expect, it } from 'vitest';
import { createSqliteThreads, sealedThreads, type CallRecord } from '../../../../core/agent/index.ts';
import { manualClock } from '../../store/manual-clock.ts';
import { temporaryStore } from '../../store/temporary-store.ts';
import { createLeases, sqliteLeaseRows, type Fence } from '../../../../core/store/index.ts';
import { png } from '../../../fixtures/images.ts';
import { assistant, callOf, stepOf, turnOf, user } from '../records.ts';
import { call, createWorld, storedRows } from '../world.ts';

const usage = { inputTokens: 1, outputTokens: 1 };
const SEAL = {
  seal: async (text: string) => Buffer.from(text).reverse().toString('base64'),
  open: async (sealed: string) => Buffer.from(sealed, 'base64').reverse().toString(),
};

it('S4 a sealed thread, and one below it, is kept sealed and read by its seal alone; others beside it are plain', async () => {
  const clock = manualClock();
  const store = temporaryStore(undefined, clock);
  const threads = sealedThreads(createSqliteThreads(store, clock));
  const leases = createLeases(sqliteLeaseRows(store, clock), clock);
  const unseal = threads.sealWith?.('runs/1', SEAL);
  const asked: CallRecord = { ...callOf('turn-runs/1', 0, 0), input: { name: 'canary' }, result: null };
  const results: Message = {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'x', output: { type: 'json', value: 'canary' } }],
  };
  const failed = { ok: false, error: { code: 'no', message: 'canary' } } as const;
  for (const id of ['runs/1', 'runs/1/below', 'other']) {
    const writer = threads.writer((await leases.acquire(`thread:${id}`, 1e9))?.fence as Fence);
    await writer.beginTurn({
      thread: { id, agentId: 'a', date: '2025-01-02', title: 'canary' },
      turn: turnOf(`turn-${id}`, id),
      messages: [user('canary')],
      said: 'canary',
    });
    const calls = [{ ...asked, turnId: `turn-${id}` }];
    await writer.recordStep(`turn-${id}`, stepOf(assistant('canary'), { step: 0, calls, usage, own: usage }));
    await writer.finishCall({ turnId: `turn-${id}`, step: 0, index: 0 }, failed);
    await writer.recordResults(`turn-${id}`, results, {});
    const messages = async () => (await threads.load(id))?.messages.map(({ message }) => message);
    expect(await messages()).toEqual([user('canary'), assistant('canary'), results]);
    expect((await threads.unfinished(id))?.calls).toMatchObject([{ input: { name: 'canary' }, state: 'finished', result: failed }]);
    await writer.compact(id, 1, [{ message: user('canary: so far'), retain: {} }]);
    expect(await messages()).toEqual([user('canary: so far'), assistant('canary'), results]);
    await writer.rewrite(id, (await threads.load(id))?.messages ?? []);
    expect((await threads.inspect(id))?.messages.map(({ message }) => message)).toEqual(await messages());
  }
  const rows = (id: string) =>
    JSON.stringify([
      store.all('SELECT * FROM threads WHERE id = ?', id),
      store.all('SELECT * FROM messages WHERE thread = ?', id),
      store.all('SELECT * FROM calls WHERE turn = ?', `turn-${id}`),
    ]);
  expect(['runs/1', 'runs/1/below', 'other'].map((id) => rows(id).includes('canary'))).toEqual([false, false, true]);
  unseal?.();
  expect((await threads.load('runs/1'))?.messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool']);
  expect(JSON.stringify([await threads.load('runs/1'), await threads.unfinished('runs/1')])).not.toContain('canary');
});

it('S4 V1 what is sealed is neither checked, repaired, shortened nor sent where the seal is not, and a refused image opens none of it', async () => {
  const refusal = Object.assign(new Error('Could not process image'), { statusCode: 400 });
  const attachments = [{ name: 'p.png', image: { mediaType: 'image/png', data: png().toString('base64') } }];
  const script = [{ error: refusal }, call('look', { name: 'canary' }), { text: 'the canary' }, { text: 'again' }];
  const world = await createWorld({ tools: { look: { run: () => 'a canary' } }, script });
  const { kernel, model, writer } = world;
  const { end, notices } = await world.run('canary?', { attachments, seal: SEAL });
  expect([end.text, notices]).toEqual(['the canary', ['image_refused']]);
  const before = storedRows(world);
  expect(JSON.stringify(before)).not.toMatch(/canary|refusedBy/u);
  expect(await kernel.agents.checkThread('thread', { repair: true })).toEqual({ faults: [], repaired: false, sealed: true });
  await expect(kernel.agents.compact('thread')).rejects.toMatchObject({ code: 'not_allowed' });
  for (const request of [{ input: 'and?' }, { resume: true, input: 'and?' }])
    expect((await world.collect(request)).end.error?.message).toContain('the conversation is sealed');
  for (const write of [() => writer.rewrite('thread', []), () => writer.compact('thread', 1, [])])
    await expect(write()).rejects.toMatchObject({ code: 'not_allowed' });
  expect(storedRows(world)).toEqual(before);
  expect(model.requests).toHaveLength(3);
  expect((await world.run('and?', { seal: SEAL })).end.text).toBe('again');
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('a canary');
});

it('S4 a sealed turn that waits for an answer is not continued without the seal: nothing of it is lost', async () => {
  const world = await createWorld({ tools: { ask: { needsApproval: 'always' } }, script: [call('ask'), { text: 'done' }] });
  await world.run('canary', { seal: SEAL });
  await world.answer('once');
  expect((await world.resume()).end.error?.message).toContain('the conversation is sealed');
  expect([world.calls.length, world.model.requests.length]).toEqual([0, 1]);
  expect((await world.resume({ seal: SEAL })).end).toMatchObject({ reason: 'done', text: 'done' });
});

it('S4 who says, or has a tool answer, what begins as something sealed does not end the conversation by it', async () => {
  const mark = 'pith:sealed: what is it';
  const world = await createWorld({
    tools: { look: { run: () => mark } },
    script: [{ calls: [{ name: 'look', input: {}, id: 'sealed' }] }, { text: mark }, { text: 'on' }],
  });
  expect((await world.run(mark)).end.reason).toBe('done');
  expect((await world.run('and now')).end.reason).toBe('done');
  expect(JSON.stringify(world.model.requests.at(-1)?.messages)).toContain(` ${mark}`);
});
