import { scriptedModel, testKernel, type TestKernel } from 'pith/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { conversationRows, createConversations, createSqliteThreads, createThreadWork } from '../../../core/agent/index.ts';
import { createLeases, sqliteLeaseRows } from '../../../core/store/index.ts';
import { kernelOf } from '../../places.ts';
import { leastCpu, until } from '../../waiting.ts';
import { manualClock } from '../store/manual-clock.ts';
import { lastingFence, temporaryStore } from '../store/temporary-store.ts';
import { assistant, turnOf, user } from './records.ts';

const AGENT = { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [risky] }\n', 'pith.yaml': 'default_agent: helper\n' };
const RISKY = {
  'extensions/risky/manifest.yaml': '{id: risky, entrypoint: main.ts, provides: [tool]}',
  'extensions/risky/main.ts': `import { defineTool, z } from 'pith';
export default class {
  getTools() {
    return [defineTool({ name: 'risk', description: 'Risks.', input: z.object({}), needsApproval: true, execute: async () => 'done' })];
  }
}
`,
};

async function talking(model = scriptedModel([])) {
  const pith = await kernelOf({ model, only: [], files: { ...AGENT, ...RISKY } });
  return { pith, model, conversations: pith.kernel.conversations! };
}

/** Another kernel on the same sandbox, as in another process. */
async function beside({ sandbox }: TestKernel, model = scriptedModel([])): Promise<TestKernel> {
  const other = await testKernel({ sandbox, model, only: [] });
  onTestFinished(() => other.stop());
  return other;
}

describe('Conversations', () => {
  it('W2 a conversation belongs to the user of its first turn, also where others speak in it, in a branch before its first message, and for an id that is used again', async () => {
    const { pith, conversations } = await talking(scriptedModel([{ text: 'a' }, { text: 'b' }, { text: 'c' }]));
    await pith.run('hello', { threadId: 't', userId: 'ann' });
    await pith.run('and', { threadId: 't', userId: 'bob' });
    const branch = await pith.kernel.agents.branchThread('t', { before: 1 });
    expect([(await conversations.find('t'))?.userId, (await conversations.find(branch))?.userId]).toEqual(['ann', 'ann']);
    expect(await conversations.messages(branch)).toEqual([]);
    await pith.kernel.agents.deleteThread('t');
    expect(await conversations.find('t')).toBeNull();
    await pith.run('mine', { threadId: 't', userId: 'bob' });
    expect((await conversations.find('t'))?.userId).toBe('bob');
  });

  it('W2 W32 lists those of one user by cursor, newest first, without threads of calls, among 10,000', async () => {
    const clock = manualClock();
    const store = temporaryStore(undefined, clock);
    const threads = createSqliteThreads(store, clock);
    const writer = threads.writer(await lastingFence(store, clock));
    const begun = Array.from({ length: 10_000 }, (_, n) => {
      const id = n % 100 === 1 ? `t${n - 1}/call` : `t${n}`;
      const userId = n % 1000 === 0 ? 'ann' : 'bob';
      return writer.beginTurn({
        thread: { id, agentId: 'helper', date: '2025-01-02', title: `Title ${n}` },
        turn: turnOf(`turn-${n}`, id, { userId }),
        messages: [user('hello')],
      });
    });
    await Promise.all(begun);
    await store.write((statement) => void statement('UPDATE threads SET updated = CAST(substr(id, 2) AS INTEGER)'));
    const rows = conversationRows(store);
    const first = rows.list({ userId: 'ann', limit: 7 });
    const rest = rows.list({ userId: 'ann', limit: 7, after: first.cursor! });
    expect([...first.found, ...rest.found].map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, n) => `t${9000 - 1000 * n}`));
    expect([first.cursor === null, rest.cursor]).toEqual([false, null]);
    expect(await leastCpu(() => rows.list({ userId: 'ann' }), 100)).toBeLessThan(100);
    expect(rows.list({ userId: 'ann', text: 'TITLE 4' }).found.map(({ id }) => id)).toEqual(['t4000']);
    expect(rows.list({ text: 'title 10' }).found.some(({ id }) => id.includes('/'))).toBe(false);
  });

  it('W10 gives a window of a long conversation, from its end, before and behind a message', async () => {
    const clock = manualClock();
    const store = temporaryStore(undefined, clock);
    const threads = createSqliteThreads(store, clock);
    const writer = threads.writer(await lastingFence(store, clock));
    const messages = Array.from({ length: 5000 }, (_, n) => (n % 2 ? assistant(`answer ${n}`) : user(`message ${n}`)));
    await writer.beginTurn({ thread: { id: 't', agentId: 'helper', date: '2025-01-02', title: 't' }, turn: turnOf('turn', 't'), messages });
    const rows = conversationRows(store);
    const seqs = (window: Parameters<typeof rows.messages>[1]) => rows.messages('t', window).map(({ seq }) => seq);
    expect(seqs({ limit: 3 })).toEqual([4998, 4999, 5000]);
    expect(seqs({ before: 4998, limit: 3 })).toEqual([4995, 4996, 4997]);
    expect(seqs({ after: 4998, limit: 3 })).toEqual([4999, 5000]);
    expect(seqs({ limit: 100_000 })).toHaveLength(200);
    expect(rows.messages('t', { limit: 2 }).map(({ message }) => message)).toEqual([user('message 4998'), assistant('answer 4999')]);
  });

  it('W16 says which conversations have changed behind a place, in any process, also while this one was down', async () => {
    const { pith, conversations } = await talking(scriptedModel([{ text: 'a' }, { text: 'c' }]));
    const { place } = await conversations.changes(null);
    await pith.run('hello', { threadId: 't', userId: 'ann' });
    const other = await beside(pith, scriptedModel([{ text: 'b' }]));
    await other.run('from elsewhere', { threadId: 'u', userId: 'bob' });
    const { threads, place: now } = await conversations.changes(place);
    expect(threads).toEqual([
      { id: 't', userId: 'ann', removed: false, asked: false },
      { id: 'u', userId: 'bob', removed: false, asked: false },
    ]);
    await pith.restart();
    await other.kernel.agents.deleteThread('u');
    await other.kernel.agents.renameThread('t', 'Another');
    const after = await pith.kernel.conversations!.changes(now);
    expect(after.threads).toMatchObject([
      { id: 'u', removed: true },
      { id: 't', removed: false },
    ]);
    expect(await pith.kernel.conversations!.changes(after.place)).toEqual({ place: after.place, threads: [] });
    await pith.run('again', { threadId: 't' });
  });

  it('W6 W16 shows the open questions of a user, and takes one answer, of which every process hears', async () => {
    const { pith, conversations } = await talking(scriptedModel([{ calls: [{ name: 'risk', input: {} }] }, { text: 'ok' }]));
    await pith.run('go', { threadId: 't', userId: 'ann' });
    expect(await conversations.find('t')).toMatchObject({ state: 'awaiting_approval', userId: 'ann' });
    expect(await conversations.questions({ userId: 'bob' })).toEqual([]);
    const [question] = await conversations.questions({ userId: 'ann' });
    expect(question).toMatchObject({ tool: 'risky/risk', threadId: 't', agents: ['helper'], answered: null, number: 1 });
    const other = await beside(pith);
    const { place } = await other.kernel.conversations!.changes(null);
    expect(await conversations.answer(question!.id, { answer: 'once', by: 'ann' })).toEqual({ attended: false });
    expect((await other.kernel.conversations!.changes(place)).threads).toMatchObject([{ id: 't', asked: true }]);
    await expect(conversations.answer(question!.id, { answer: 'no', by: 'bob' })).rejects.toMatchObject({ code: 'approval_answered' });
    expect(await conversations.questions({ id: question!.id })).toMatchObject([{ answered: { answer: 'once', by: 'ann' } }]);
    expect((await pith.run('', { threadId: 't', resume: true })).text).toBe('ok');
    expect(await conversations.messages('t')).toMatchObject([
      { role: 'user', text: 'go' },
      { role: 'assistant', calls: [{ name: 'risk', input: {} }] },
      { role: 'tool', results: [{ name: 'risk', ok: true, output: 'done' }] },
      { role: 'assistant', text: 'ok' },
    ]);
  });

  it('W17 stops the turn that runs, in whichever process, and never the next one', async () => {
    const { pith, conversations } = await talking(scriptedModel([{ text: 'never ends', hang: true }, { text: 'the next' }]));
    const running = pith.run('go', { threadId: 't' });
    await until(async () => (await conversations.find('t'))?.state === 'running');
    const other = (await beside(pith)).kernel.conversations!;
    expect(await other.stop('t', 'ann')).toBe('stopped');
    const { reason, events } = await running;
    expect(reason).toBe('aborted');
    expect(events.filter(({ type }) => type === 'notice')).toMatchObject([{ code: 'turn_stopped', message: 'stopped by ann' }]);
    expect([await other.stop('t', 'ann'), (await conversations.find('t'))?.state]).toEqual(['idle', 'idle']);
    expect(await pith.run('again', { threadId: 't' })).toMatchObject({ reason: 'done', text: 'the next' });
  });

  it('W17 tells a turn that was cut off from one that runs', async () => {
    const clock = manualClock();
    const store = temporaryStore(undefined, clock);
    const threads = createSqliteThreads(store, clock);
    const writer = threads.writer(await lastingFence(store, clock));
    await writer.beginTurn({
      thread: { id: 't', agentId: 'helper', date: '2025-01-02', title: 't' },
      turn: turnOf('turn', 't'),
      messages: [user('x')],
    });
    const leases = createLeases(sqliteLeaseRows(store, clock), clock);
    const kept = { rows: conversationRows(store), work: createThreadWork(leases, clock), approvals: undefined as never };
    const { find } = createConversations(() => kept);
    const state = async () => (await find('t'))?.state;
    const lease = await leases.acquire('thread:t', 3000);
    expect([await state(), await find('unknown')]).toEqual(['running', null]);
    await lease?.release();
    expect(await state()).toBe('cut_off');
  });
});
