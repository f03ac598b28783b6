import type { Message } from 'pith';
import { describe, expect, it } from 'vitest';
import { type CallRecord, createSqliteThreads } from '../../../../core/agent/index.ts';
import { manualClock } from '../../store/manual-clock.ts';
import { lastingFence, temporaryStore } from '../../store/temporary-store.ts';
import { assistant, callOf, stepOf as stepWith, turnOf, user } from '../records.ts';

const usage = { inputTokens: 10, outputTokens: 2 };
const stepOf = (step: number, text: string, calls: readonly CallRecord[] = []) =>
  stepWith(assistant(text), { step, calls, usage, own: usage });

async function setup() {
  const clock = manualClock();
  const store = temporaryStore(undefined, clock);
  const threads = createSqliteThreads(store, clock);
  const fence = await lastingFence(store, clock);
  const writer = threads.writer(fence);
  return {
    clock,
    store,
    threads,
    fence,
    writer,
    begin: (threadId: string, turnId: string, text: string, depth = 0) =>
      writer.beginTurn({
        thread: { id: threadId, agentId: 'helper', date: '2025-01-02', title: text },
        turn: turnOf(turnId, threadId, { depth }),
        messages: [user(text)],
      }),
  };
}

describe('Threads', () => {
  it('M87 keeps what the channel calls the message of a turn, for whoever goes on with it', async () => {
    const { threads, writer } = await setup();
    const thread = { id: 't', agentId: 'helper', date: '2025-01-02', title: 'hello' };
    await writer.beginTurn({ thread, turn: turnOf('turn-1', 't', { messageId: 'm1' }), messages: [user('hello')] });
    expect((await threads.unfinished('t'))?.turn).toEqual(turnOf('turn-1', 't', { messageId: 'm1' }));
    await writer.setState('turn-1', 'done', usage);
    await writer.beginTurn({ thread, turn: turnOf('turn-2', 't'), messages: [user('and')] });
    expect((await threads.unfinished('t'))?.turn).toEqual(turnOf('turn-2', 't'));
  });

  it('U25 a branch has what was before a message and nothing that is open, and knows whose it is when the other thread is gone', async () => {
    const { threads, writer, begin } = await setup();
    await begin('t', 'turn-1', 'hello');
    const call = callOf('turn-1', 0, 0, { state: 'started' });
    await writer.recordStep('turn-1', stepOf(0, 'x', [call]));
    await begin('t', 'turn-2', 'and');
    await writer.branch({ id: 't.2', of: 't', before: 3, title: 'again' });
    await writer.branch({ id: 't.3', of: 't', before: 1, title: 'empty' });
    const { thread, messages } = (await threads.load('t.2'))!;
    expect(await threads.find('t.2')).toEqual(thread);
    expect(await threads.find('t.4')).toBeNull();
    expect(thread).toMatchObject({ branchOf: 't', title: 'again', agentId: 'helper', date: '2025-01-02', compactions: 0 });
    expect(messages.map(({ message }) => message)).toEqual((await threads.load('t'))!.messages.slice(0, 2).map(({ message }) => message));
    expect(new Set(messages.map(({ turnId }) => turnId)).size).toBe(1);
    expect([await threads.unfinished('t.2'), await threads.usage('t.2').then((use) => use[0]?.inputTokens)]).toEqual([null, 0]);
    await writer.remove('t');
    expect(await threads.last('t.2')).toMatchObject({ threadId: 't.2', userId: turnOf('turn-1', 't').userId, state: 'done' });
    expect((await threads.load('t.3'))?.messages).toEqual([]);
    expect(await threads.last('t.3')).toBeNull();
  });

  it('U22 says what a thread has used with all that it called, each by the model that answered, and nothing twice', async () => {
    const { threads, writer, begin } = await setup();
    expect(await threads.usage('t')).toEqual([]);
    await begin('t', 'turn-1', 'hello');
    const own = { inputTokens: 7, outputTokens: 3 };
    await writer.recordStep('turn-1', { ...stepOf(0, 'x'), own });
    await begin('t/1', 'turn-2', 'do it', 1);
    const called = { inputTokens: 5, outputTokens: 1 };
    await writer.recordStep('turn-2', { ...stepOf(0, 'y'), own: called, usage: called, model: 'test/b', end: 'done' });
    // What the caller has used by now has that in it.
    await writer.recordStep('turn-1', { ...stepOf(1, 'z'), own, usage: { inputTokens: 19, outputTokens: 7 }, end: 'done' });
    await begin('tea', 'turn-3', 'hello');
    await begin('t/ea', 'turn-4', 'hello');
    await writer.recordStep('turn-4', { ...stepOf(0, 'of another conversation'), own });
    expect(await threads.usage('t')).toEqual([
      { model: 'test/a', inputTokens: 14, outputTokens: 6 },
      { model: 'test/b', ...called },
    ]);
  });

  it('K45 persists each step with its calls, and the turn continues from there', async () => {
    const { threads, writer, begin } = await setup();
    await begin('t', 'turn-1', 'hello');
    await writer.recordStep('turn-1', stepOf(0, 'looking', [callOf('turn-1', 0, 0), callOf('turn-1', 0, 1), callOf('turn-1', 0, 2)]));
    await writer.setCall({ turnId: 'turn-1', step: 0, index: 0 }, 'started');
    await writer.setCall({ turnId: 'turn-1', step: 0, index: 1 }, 'started');
    await writer.finishCall({ turnId: 'turn-1', step: 0, index: 0 }, { ok: true, output: { lines: 3 }, retain: { key: 'k', digest: 'd' } });

    const unfinished = await threads.unfinished('t');
    expect(unfinished?.turn).toEqual(turnOf('turn-1', 't', { steps: 1, usage }));
    expect(unfinished?.calls).toEqual([
      { ...callOf('turn-1', 0, 0), state: 'finished', result: { ok: true, output: { lines: 3 }, retain: { key: 'k', digest: 'd' } } },
      { ...callOf('turn-1', 0, 1), state: 'started' },
      callOf('turn-1', 0, 2),
    ]);

    const results: Message = {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'call-0-0', toolName: 'read', output: { type: 'json', value: { lines: 3 } } }],
    };
    await writer.recordResults('turn-1', results, { 'call-0-0': { key: 'k', digest: 'd' } });
    expect((await threads.load('t'))?.messages).toEqual([
      { seq: 1, turnId: 'turn-1', message: user('hello'), retain: {} },
      { seq: 2, turnId: 'turn-1', message: assistant('looking'), retain: {} },
      { seq: 3, turnId: 'turn-1', message: results, retain: { 'call-0-0': { key: 'k', digest: 'd' } } },
    ]);
  });

  it('K45 a turn that has ended is no longer unfinished; one that waits for approval is', async () => {
    const { threads, writer, begin } = await setup();
    await begin('t', 'turn-1', 'hello');
    await writer.setState('turn-1', 'awaiting_approval', usage);
    expect((await threads.unfinished('t'))?.turn).toMatchObject({ state: 'awaiting_approval', usage });
    for (const state of ['done', 'error', 'aborted', 'limit'] as const) {
      await writer.setState('turn-1', state, usage);
      expect(await threads.unfinished('t')).toBeNull();
    }
    expect(await threads.unfinished('other')).toBeNull();
    expect(await threads.load('other')).toBeNull();
  });

  it('K45 keeps a thread over turns: its beginning stays, the newest comes first', async () => {
    const { threads, writer, begin, clock } = await setup();
    const start = clock.now();
    await begin('a', 'turn-1', 'first words\0');
    await writer.setState('turn-1', 'done', usage);
    await clock.advance(1_000);
    await begin('b', 'turn-2', 'other');
    await clock.advance(1_000);
    await writer.beginTurn({
      thread: { id: 'a', agentId: 'helper', date: '2099-09-09', title: 'second words' },
      turn: turnOf('turn-3', 'a'),
      messages: [user('again')],
    });
    expect((await threads.list(10)).map((thread) => thread.id)).toEqual(['a', 'b']);
    expect(await threads.list(1)).toEqual([
      {
        id: 'a',
        agentId: 'helper',
        date: '2025-01-02',
        title: 'first words ',
        createdAt: start,
        updatedAt: start + 2_000,
        compactions: 0,
        userId: turnOf('turn-1', 't').userId,
        branchOf: null,
      },
    ]);
    expect((await threads.load('a'))?.messages.map(({ seq, turnId }) => [seq, turnId])).toEqual([
      [1, 'turn-1'],
      [2, 'turn-3'],
    ]);
  });

  it('replaces the oldest messages by a summary, in one commit, and later ones keep their numbers', async () => {
    const { threads, writer, begin } = await setup();
    await begin('t', 'turn-1', 'one');
    for (const step of [0, 1, 2]) await writer.recordStep('turn-1', stepOf(step, `step ${step}`));
    await writer.compact('t', 3, [
      { message: user('summary'), retain: {} },
      { message: assistant('kept'), retain: { c: { key: 'k', digest: 'd' } } },
    ]);
    const after = await threads.load('t');
    expect(after?.thread.compactions).toBe(1);
    expect(after?.messages.map(({ seq, message, retain }) => [seq, message, retain])).toEqual([
      [2, user('summary'), {}],
      [3, assistant('kept'), { c: { key: 'k', digest: 'd' } }],
      [4, assistant('step 2'), {}],
    ]);
    await writer.recordStep('turn-1', stepOf(3, 'next'));
    expect((await threads.load('t'))?.messages.map(({ seq }) => seq)).toEqual([2, 3, 4, 5]);
  });

  it('refuses to write to what is not there, and leaves no half of it', async () => {
    const { threads, writer, begin } = await setup();
    await begin('t', 'turn-1', 'one');
    const unknown = { code: 'thread_unknown' };
    await expect(writer.recordStep('nope', stepOf(0, 'x', [callOf('nope', 0, 0)]))).rejects.toMatchObject(unknown);
    await expect(writer.setCall({ turnId: 'turn-1', step: 0, index: 0 }, 'started')).rejects.toMatchObject(unknown);
    await expect(writer.finishCall({ turnId: 'turn-1', step: 0, index: 0 }, { ok: true, output: 1 })).rejects.toMatchObject(unknown);
    await expect(writer.recordResults('nope', assistant('x'), {})).rejects.toMatchObject(unknown);
    await expect(writer.setState('nope', 'done', usage)).rejects.toMatchObject(unknown);
    await expect(writer.compact('nope', 1, [])).rejects.toMatchObject(unknown);
    await expect(begin('t', 'turn-1', 'the same turn twice')).rejects.toMatchObject({ code: 'database_failed' });
    expect((await threads.load('t'))?.messages).toHaveLength(1);
    expect((await threads.unfinished('t'))?.calls).toEqual([]);
  });

  it('U30 renames a thread, and deletes it with the threads that it called, and no other', async () => {
    const { threads, writer, begin } = await setup();
    for (const [thread, turn, depth] of [
      ['t', 'turn-1', 0],
      ['t/turn-1/0', 'turn-2', 1],
      ['t/turn-1/0/turn-2/0', 'turn-3', 2],
      ['t0', 'turn-4', 0],
      ['t-2', 'turn-5', 0],
      ['t/ea', 'turn-6', 0],
      ['t/ea/turn-6/0', 'turn-7', 1],
    ] as const)
      await begin(thread, turn, thread, depth);
    await writer.recordStep('turn-1', stepOf(0, 'x', [callOf('turn-1', 0, 0)]));
    await writer.rename('t', 'another');
    expect((await threads.load('t'))?.thread.title).toBe('another');
    await writer.remove('t');
    expect((await threads.list(10)).map(({ id }) => id).sort()).toEqual(['t-2', 't/ea', 't/ea/turn-6/0', 't0']);
    expect([await threads.load('t'), await threads.unfinished('t'), await threads.last('t')]).toEqual([null, null, null]);
    await begin('t', 'turn-1', 'begun again');
    expect((await threads.load('t'))?.messages).toHaveLength(1);
    expect((await threads.unfinished('t'))?.calls).toEqual([]);
    for (const change of [writer.rename('nope', 'x'), writer.remove('nope')])
      await expect(change).rejects.toMatchObject({ code: 'thread_unknown' });
  });

  it('ends a turn with its last step, and charges those that called it, in one commit', async () => {
    const { threads, writer, begin, fence } = await setup();
    await begin('parent', 'turn-1', 'one');
    await begin('child', 'turn-2', 'two');
    const delegated = { turns: 1, steps: 1, calls: 0 };
    const more = { inputTokens: 50, outputTokens: 5 };
    const charge = { turnId: 'turn-1', delegated, usage: more, fence };
    const lost = { ...charge, fence: { ...fence, holder: 'gone' } };
    const last = { ...stepOf(0, 'done'), end: 'done' as const };
    await expect(writer.recordStep('turn-2', { ...last, callers: [charge, lost] })).rejects.toMatchObject({ code: 'thread_busy' });
    expect(await threads.delegated('parent', 'turn-1')).toEqual({ turns: 0, steps: 0, calls: 0 });
    expect((await threads.unfinished('child'))?.turn.steps).toBe(0);
    await writer.recordStep('turn-2', { ...last, callers: [charge] });
    expect(await threads.delegated('parent', 'turn-1')).toEqual(delegated);
    expect((await threads.unfinished('parent'))?.turn.usage).toEqual(more);
    expect(await threads.unfinished('child')).toBeNull();
    expect(await threads.last('child')).toMatchObject({ id: 'turn-2', state: 'done', steps: 1 });
  });

  it('keeps 100 turns that write at once apart', async () => {
    const { threads, writer, begin } = await setup();
    await Promise.all(
      Array.from({ length: 100 }, async (_, number) => {
        await begin(`t${number}`, `turn-${number}`, `hello ${number}`);
        for (let step = 0; step < 5; step += 1) await writer.recordStep(`turn-${number}`, stepOf(step, `${number}.${step}`));
      }),
    );
    for (let number = 0; number < 100; number += 1) {
      const texts = (await threads.load(`t${number}`))?.messages.map(({ message }) => (message.content[0] as { text: string }).text);
      expect(texts).toEqual([`hello ${number}`, ...[0, 1, 2, 3, 4].map((step) => `${number}.${step}`)]);
    }
  });
});

it('names a damaged row and still serves the other threads', async () => {
  const { threads, begin, store } = await setup();
  await begin('good', 'turn-1', 'fine');
  await begin('bad', 'turn-2', 'broken');
  await store.write((statement) => void statement(`UPDATE messages SET message = '{"role":"user"' WHERE thread = 'bad'`));
  const failure = {
    code: 'database_failed',
    where: store.file,
    cure: expect.stringContaining('threads check'),
    message: expect.stringContaining(`message 1 of thread 'bad'`),
  };
  await expect(threads.load('bad')).rejects.toEqual(expect.objectContaining(failure));
  await store.write((statement) => void statement(`UPDATE messages SET message = '{"role":"nobody","content":[]}' WHERE thread = 'bad'`));
  await expect(threads.load('bad')).rejects.toEqual(expect.objectContaining(failure));
  await store.write((statement) => void statement(`UPDATE turnagents SET agent = '[]' WHERE turn = 'turn-2'`));
  await expect(threads.unfinished('bad')).rejects.toEqual(
    expect.objectContaining({ message: expect.stringContaining(`the agent of turn 'turn-2' of thread 'bad'`) }),
  );
  expect((await threads.load('good'))?.messages).toHaveLength(1);
  expect(await threads.list(10)).toHaveLength(2);
});
