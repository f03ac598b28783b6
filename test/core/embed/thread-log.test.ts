import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPith, type PithOptions, type Question, type ThreadLog } from 'pith/embed';
import { fakeClock, scriptedModel, type ScriptedStep, threadLogCases } from 'pith/testing';
import { folderWith } from '../../places.ts';
import { fileLog, mapLog, waitingLog } from '../../fixtures/thread-logs.ts';
import { gate } from '../../waiting.ts';

async function pithWith(store: ThreadLog | 'memory', script: readonly ScriptedStep[], options: PithOptions = {}) {
  const model = scriptedModel(script);
  const pith = await createPith({ model: model.model, store, ...options });
  onTestFinished(() => pith.close());
  return { pith, model };
}

/** Whether a case says that a log is wrong. */
async function failing(open: () => ThreadLog): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of threadLogCases(open)) await run().catch(() => failed.push(name));
  return failed;
}

describe('U45 the cases for stores of threads', () => {
  it('U45 hold for a store in memory and for one in files, each with two instances', async () => {
    const memory = new Map<string, string[]>();
    const folder = folderWith();
    expect([await failing(() => mapLog(memory)), await failing(() => fileLog(folder))]).toEqual([[], []]);
    expect([...memory.keys()]).toEqual([]); // nothing of the cases is left
  });

  it('U45 say first that each instance must be over the same storage', async () => {
    expect((await failing(() => mapLog()))[0]).toBe('two instances are over the same storage');
  });

  it.each<[string, RegExp, (right: ThreadLog) => Partial<ThreadLog>]>([
    [
      'compares nothing',
      /nothing is added/u,
      ({ append, read }) => ({ append: async (thread, _, entries) => append(thread, (await read(thread, 0, 1e6)).length, entries) }),
    ],
    [
      'compares before it waits',
      /of fifty/u,
      ({ append, read }) => ({
        async append(thread, length, entries) {
          if ((await read(thread, 0, 1e6)).length !== length) return false;
          await new Promise(setImmediate);
          return append(thread, (await read(thread, 0, 1e6)).length, entries);
        },
      }),
    ],
    ['resolves nothing', /in the order/u, ({ append }) => ({ append: async (...given) => void (await append(...given)) as never })],
    [
      'resolves what its database answered',
      /in the order/u,
      ({ append }) => ({ append: async (...given) => ({ rowCount: Number(await append(...given)) }) as never }),
    ],
    [
      'resolves no false',
      /nothing is added/u,
      ({ append }) => ({ append: async (...given) => (await append(...given)) || (undefined as never) }),
    ],
    [
      'reads null where there is no thread',
      /without entries is empty/u,
      ({ read }) => ({
        async read(...given) {
          const found = await read(...given);
          return found.length > 0 ? found : (null as never);
        },
      }),
    ],
    ['lists null', /the list has/u, () => ({ list: async () => null as never })],
    [
      'adds the last entry alone',
      /in the order/u,
      ({ append }) => ({ append: async (thread, length, entries) => append(thread, length, entries.slice(-1)) }),
    ],
    ['reads all from the beginning', /in the order/u, ({ read }) => ({ read: async (thread, _, limit) => read(thread, 0, limit) })],
    ['takes no limit', /in the order/u, ({ read }) => ({ read: async (thread, from) => read(thread, from, 1e6) })],
    [
      'lists the oldest first',
      /the list has/u,
      ({ list }) => ({ list: async (limit) => [...(await list(1e6))].reverse().slice(0, limit) }),
    ],
    ['removes nothing', /removed thread is gone/u, () => ({ remove: async () => undefined })],
    [
      'keeps what a text is not',
      /of any text/u,
      ({ append }) => ({
        append: async (thread, length, entries) =>
          append(
            thread,
            length,
            entries.map((each) => each.normalize('NFC').slice(0, 65_536)),
          ),
      }),
    ],
    [
      'folds ids',
      /ids may be any text/u,
      ({ append, read }) => ({
        append: async (thread, ...rest) => append(thread.trim(), ...rest),
        read: async (thread, ...rest) => read(thread.trim(), ...rest),
      }),
    ],
  ])('U45 fail for one that %s', async (_, named, wrong) => {
    const threads = new Map<string, string[]>();
    const open = (): ThreadLog => ({ ...mapLog(threads), ...wrong(mapLog(threads)) });
    expect((await failing(open)).join('\n')).toMatch(named);
  });

  it('U45 fail for one whose instances do not share, and for one that gives its own arrays away', async () => {
    expect((await failing(() => mapLog())).join('\n')).toMatch(/another one sees/u);
    const threads = new Map<string, string[]>();
    const given = (): ThreadLog => ({ ...mapLog(threads), read: async (thread) => threads.get(thread) ?? [] });
    expect((await failing(given)).join('\n')).toMatch(/returned changes no entry/u);
  });
});

/** What was sent of results. */
const results = (request: unknown): string =>
  JSON.stringify((request as { messages: readonly { role: string }[] }).messages.filter(({ role }) => role === 'tool'));

describe('U45 a program with a store of its own', () => {
  it('U45 goes on in another Pith, lists, reads and removes threads', async () => {
    const log = mapLog();
    const first = await pithWith(log, [{ text: 'Hello Ana.' }]);
    await first.pith.run('I am Ana', { thread: 'user/42' }).result;
    await first.pith.run('other', { thread: 'user' }).result.catch(() => undefined);
    await first.pith.close();
    const second = await pithWith(log, [{ text: 'Ana.' }]);
    expect((await second.pith.run('who am I?', { thread: 'user/42' }).result).text).toBe('Ana.');
    expect(JSON.stringify(second.model.requests[0])).toContain('I am Ana');
    expect(await second.pith.threads.list()).toMatchObject([
      { id: 'user/42', title: 'I am Ana' },
      { id: 'user', title: 'other' },
    ]);
    expect(await second.pith.threads.messages('user/42')).toHaveLength(4);
    await second.pith.threads.remove('user');
    await second.pith.threads.remove('user/42');
    expect([await second.pith.threads.list(), await second.pith.threads.messages('user/42')]).toEqual([[], null]);
    await expect(second.pith.threads.remove('user/42')).rejects.toMatchObject({ code: 'thread_unknown' });
  });

  it('U44 waits with later, and goes on in another Pith: what has run is not run again, an answer that was given is not asked for again', async () => {
    const log = mapLog();
    const ran: string[] = [];
    const asking = (name: string) => ({ needsApproval: true, execute: () => (ran.push(name), `${name} done`) });
    const tools = { look: () => (ran.push('look'), 'looked'), pay: asking('pay'), send: asking('send') };
    const calls = [call('look'), call('pay'), call('send')];
    const first = await pithWith(log, [{ calls }], { tools, approve: () => 'later' });
    const waiting = await first.pith.run('go', { thread: 't' }).result;
    expect(waiting).toMatchObject({ status: 'waiting', questions: [{ tool: 'pay' }] });
    await first.pith.close();
    const asked: string[] = [];
    const approve = ({ tool }: Question) => (asked.push(tool), 'later' as const);
    const second = await pithWith(log, [], { tools, approve });
    const half = await second.pith.resume('t', { [waiting.questions[0]!.id]: 'yes' }).result;
    expect([half.status, half.questions.map(({ tool }) => tool), asked, ran]).toEqual(['waiting', ['send'], ['send'], ['look', 'pay']]);
    await second.pith.close();
    const third = await pithWith(log, [{ text: 'end' }], { tools, approve });
    const ended = await third.pith.resume('t', { [half.questions[0]!.id]: { no: 'not today' } }).result;
    expect([ended.status, ended.text, asked, ran]).toEqual(['done', 'end', ['send'], ['look', 'pay']]);
    expect(results(third.model.requests[0])).toMatch(/looked.*pay done.*not today/u);
  });

  it('U44 an answer that is in the store is not asked for again where the run broke before its tool', async () => {
    const log = mapLog();
    let ran = 0;
    const tools = { pay: { needsApproval: true, execute: () => ((ran += 1), 'paid') } };
    let left = Infinity;
    const failing: ThreadLog = {
      ...log,
      append: (...given) => ((left -= 1) < 0 ? Promise.reject(new Error('no connection')) : log.append(...given)),
    };
    const first = await pithWith(failing, [{ calls: [call('pay')] }], { tools, approve: () => 'later' });
    const { questions } = await first.pith.run('go', { thread: 't' }).result;
    left = 1; // the answer
    await expect(first.pith.resume('t', { [questions[0]!.id]: 'yes' }).result).rejects.toMatchObject({ code: 'database_failed' });
    const asked: Question[] = [];
    const second = await pithWith(log, [{ text: 'end' }], { tools, approve: (question) => (asked.push(question), 'no') });
    expect(await second.pith.resume('t').result).toMatchObject({ status: 'done', text: 'end' });
    expect([asked, ran]).toEqual([[], 1]);
  });

  it('U45 keeps what the agents that a turn calls have said and asked, in the log of the conversation', async () => {
    const log = mapLog();
    const sandbox = folderWith({
      'pith.yaml': 'default_agent: first\n',
      'agents/first/manifest.yaml': 'id: first\nagent: { uses_tools: [delegation], delegates_to: [second], instructions: First. }\n',
      'agents/second/manifest.yaml': 'id: second\nagent: { uses_tools: [embedded], instructions: Second. }\n',
    });
    const options = { sandbox, extensions: ['delegation'], tools: { pay: { needsApproval: true, execute: () => 'paid' } } };
    const delegating = { calls: [call('delegate_task', { agent_id: 'second', task: 'pay the bill' })] };
    const first = await pithWith(log, [delegating, { calls: [call('pay')] }], { ...options, approve: () => 'later' });
    const waiting = await first.pith.run('go', { thread: 't' }).result;
    expect(waiting).toMatchObject({ status: 'waiting', questions: [{ tool: 'pay', thread: 't' }] });
    await first.pith.close();
    const second = await pithWith(log, [{ text: 'it is paid' }, { text: 'all done' }], options);
    const ended = await second.pith.resume('t', { [waiting.questions[0]!.id]: 'yes' }).result;
    expect(ended).toMatchObject({ status: 'done', text: 'all done', usage: { inputTokens: 40, outputTokens: 20 } });
    expect(results(second.model.requests[0])).toContain('paid');
    expect(results(second.model.requests[1])).toContain('it is paid');
    expect(await log.list(10)).toEqual(['t']);
  });

  it('U45 has what a tool waits for in the log before the tool runs, and its result before the model is asked', async () => {
    const log = mapLog();
    const seen: Record<string, string> = {};
    const note = async (when: string) => void (seen[when] = (await log.read('t', 0, 1000)).join('\n'));
    const { pith } = await pithWith(log, [{ calls: [call('write')] }, async () => (await note('asked again'), { text: 'end' })], {
      tools: { write: async () => (await note('in the tool'), 'canary result') },
    });
    const run = pith.run('go', { thread: 't' });
    for await (const event of run) if (event.type === 'turn-end') await note('ended');
    expect(seen['in the tool']).toMatch(/"do":"recordStep".*"state":"started"/u);
    expect(seen['in the tool']).not.toContain('canary result');
    expect(seen['asked again']).toMatch(/"do":"finishCall".*canary result/u);
    expect(seen['ended']).toMatch(/"do":"recordStep".*"end":"done"/u);
    expect(seen['ended']!.split('\n').every((line) => JSON.parse(line).v === 1)).toBe(true);
    expect(seen['ended']).not.toMatch(/fence|thread:t/u);
  });

  it.each([1, 2, 3, 4, 5])(
    'U45 ends a run with a code where the store fails at append %i; what was added is there, and the thread goes on',
    async (at) => {
      const log = mapLog();
      let count = 0;
      const failing: ThreadLog = {
        ...log,
        append: (...given) => ((count += 1) === at ? Promise.reject(new Error('no connection')) : log.append(...given)),
      };
      const script = [{ calls: [call('write')] }, { text: 'end' }];
      let ran = 0;
      const tools = { write: () => ((ran += 1), 'written') };
      const { pith, model } = await pithWith(failing, script, { tools });
      const failed = await pith.run('go', { thread: 't' }).result.catch((error: unknown) => error);
      expect(failed).toMatchObject({
        code: 'database_failed',
        message: expect.stringMatching(/store of thread 't': 'append' failed: no connection/u),
      });
      expect(await log.read('t', 0, 100)).toHaveLength(at - 1);
      expect(ran).toBe(at <= 2 ? 0 : 1);
      model.add({ text: 'again' });
      const rest = model.requests.length;
      expect(await pith.run('go on', { thread: 't' }).result).toMatchObject({ status: 'done' });
      expect(model.requests.length).toBeGreaterThan(rest);
    },
  );

  it('U45 ends a run whose tools run side by side where the store is gone for good; removing fails with a code, and removes nothing', async () => {
    const log = mapLog();
    let [isGone, isBack] = [false, false];
    const gone = () => (isGone && !isBack ? Promise.reject(new Error('no connection')) : Promise.resolve());
    const store: ThreadLog = {
      ...log,
      append: async (...given) => (await gone(), log.append(...given)),
      remove: async (...given) => (await gone(), log.remove(...given)),
    };
    const look = { effect: 'read' as const, execute: () => ((isGone = true), 'looked') };
    const { pith, model } = await pithWith(store, [{ calls: [call('look'), call('look'), call('look')] }], { tools: { look } });
    await expect(pith.run('go', { thread: 't' }).result).rejects.toMatchObject({ code: 'database_failed' });
    await expect(pith.threads.remove('t')).rejects.toMatchObject({
      code: 'database_failed',
      message: expect.stringContaining("'remove' failed"),
    });
    isBack = true;
    expect(await pith.threads.messages('t')).toHaveLength(2);
    model.add({ text: 'end' });
    expect(await pith.resume('t').result).toMatchObject({ status: 'done', text: 'end' });
    await pith.threads.remove('t');
    expect(await log.list(1)).toEqual([]);
  });

  it('U45 ends a run with a code where the store cannot be read, and where an entry is not what was added', async () => {
    const log = mapLog();
    const { pith } = await pithWith({ ...log, read: () => Promise.reject(new Error('no connection')) }, [{ text: 'never' }]);
    await expect(pith.run('go').result).rejects.toMatchObject({
      code: 'database_failed',
      message: expect.stringContaining('no connection'),
    });
    await expect(pith.threads.messages('t')).rejects.toMatchObject({ code: 'database_failed' });
    await log.append('damaged', 0, ['{"v":1}']);
    await log.append('newer', 0, ['{"v":2,"at":1,"do":"beginTurn","with":[]}']);
    const second = await pithWith(log, []);
    await expect(second.pith.run('go', { thread: 'damaged' }).result).rejects.toMatchObject({
      code: 'database_failed',
      message: expect.stringMatching(/entry 1 of thread 'damaged' cannot be read/u),
    });
    await expect(second.pith.run('go', { thread: 'newer' }).result).rejects.toMatchObject({
      code: 'database_failed',
      message: expect.stringContaining('version 2, this Pith knows 1'),
      cure: expect.stringContaining('use the newer Pith'),
    });
  });

  it.each([
    ['not JSON', 'broken', /entry 1 of thread 'two' cannot be read/u],
    ['of a later Pith', '{"v":99}', /version 99/u],
    ['named by what every object has', '{"v":1,"at":1,"do":"toString","with":[]}', /entry 1 of thread 'two' cannot be read/u],
    ['with other arguments', '{"v":1,"at":1,"do":"beginTurn","with":[]}', /entry 1 of thread 'two' cannot be read/u],
  ])(
    'U45 lists a thread whose entry is %s, and removes it; what reads it says why, and that to try again does not help',
    async (_, entry, why) => {
      const log = mapLog();
      const { pith } = await pithWith(log, [{ text: 'Hello.' }, { text: 'Hello again.' }]);
      await pith.run('one', { thread: 'one' }).result;
      await log.append('two', 0, [entry]);
      expect(await pith.threads.list()).toEqual([
        { id: 'two', title: null },
        { id: 'one', title: 'one' },
      ]);
      const failure = { code: 'database_failed', message: expect.stringMatching(why), retryable: false, cure: expect.any(String) };
      await expect(pith.run('hi', { thread: 'two' }).result).rejects.toMatchObject({ code: failure.code, message: failure.message });
      await expect(pith.threads.messages('two')).rejects.toMatchObject(failure);
      await pith.threads.remove('two');
      expect([await log.list(9), await pith.threads.messages('two')]).toEqual([['one'], null]);
      expect(await pith.run('hi', { thread: 'two' }).result).toMatchObject({ status: 'done', text: 'Hello again.' });
    },
  );

  it('U45 removes a thread of which a later entry cannot be read, with what it had in memory', async () => {
    const log = mapLog();
    const { pith, model } = await pithWith(log, [{ text: 'Hello.' }]);
    await pith.run('I am Ana', { thread: 't' }).result;
    await log.append('t', (await log.read('t', 0, 99)).length, ['{"v":1,"at":1,"do":"recordStep","with":["nowhere",{}]}']);
    await expect(pith.run('hi', { thread: 't' }).result).rejects.toMatchObject({
      message: expect.stringContaining('it is not what was added'),
    });
    await pith.threads.remove('t');
    model.add({ text: 'again' });
    await pith.run('hi', { thread: 't' }).result;
    expect(JSON.stringify(model.requests.at(-1))).not.toContain('Ana');
  });

  it.each<[string, Partial<ThreadLog>]>([
    ["'append' must resolve true or false, not undefined", { append: async () => undefined as never }],
    ["'append' must resolve true or false, not object", { append: async () => ({ rowCount: 1 }) as never }],
    ["'append' must resolve true or false, not string", { append: async () => 'OK' as never }],
    ["'read' must resolve a list of at most 500 texts, not null", { read: async () => null as never }],
    ["'read' must resolve a list of at most 500 texts, not another list", { read: async () => [{ v: 1 }] as never }],
    ["'list' must resolve a list of at most 100 ids, not null", { list: async () => null as never }],
    ["'list' must resolve a list of at most 100 ids, not another list", { list: async () => Array.from({ length: 101 }, String) }],
  ])('U45 says %s', async (said, wrong) => {
    const { pith } = await pithWith({ ...mapLog(), ...wrong }, [{ text: 'Hello.' }]);
    const asked = wrong.list === undefined ? pith.run('hi').result : pith.threads.list();
    await expect(asked).rejects.toMatchObject({ code: 'database_failed', message: expect.stringContaining(said) });
    if (wrong.append !== undefined) return;
    const read = wrong.list === undefined ? pith.threads.messages('t') : pith.threads.list();
    await expect(read).rejects.toMatchObject({ retryable: false, cure: expect.stringMatching(/threadLogCases/u) });
  });

  it('U45 never overwrites what another process has written: of two runs at one thread one ends thread_busy', async () => {
    const log = mapLog();
    const [inTool, goOn] = [gate(), gate()];
    const tools = { write: async () => (inTool.open(), await goOn.opened, 'written') };
    const one = await pithWith(log, [{ calls: [call('write')] }, { text: 'never' }], { tools });
    const stalled = one.pith.run('go', { thread: 't' }).result.catch((error: unknown) => error);
    await inTool.opened;
    const other = await pithWith(log, [{ text: 'told' }], { tools: { write: () => 'never' } });
    expect(await other.pith.resume('t').result).toMatchObject({ status: 'done', text: 'told' });
    expect(results(other.model.requests[0])).toContain('interrupted');
    goOn.open();
    expect(await stalled).toMatchObject({
      code: 'thread_busy',
      message: expect.stringContaining("thread 't' was written by somebody else"),
    });
    expect(one.model.requests).toHaveLength(1);
    one.model.add();
    expect(await one.pith.threads.messages('t')).toEqual(await other.pith.threads.messages('t'));
  });

  it('U45 reads only what is new of a thread that it knows, and again what was replaced meanwhile', async () => {
    const log = mapLog();
    const from: number[] = [];
    const counted: ThreadLog = { ...log, read: (thread, at, limit) => (from.push(at), log.read(thread, at, limit)) };
    const { pith, model } = await pithWith(counted, [{ text: 'one' }, { text: 'two' }, { text: 'three' }, { text: 'four' }]);
    await pith.run('1', { thread: 't' }).result;
    await pith.run('2', { thread: 't' }).result;
    expect(from).toEqual([0, 1]);
    const other = await pithWith(log, [{ text: 'elsewhere' }]);
    await other.pith.run('3', { thread: 't' }).result;
    await pith.run('4', { thread: 't' }).result;
    expect(JSON.stringify(model.requests[2])).toContain('elsewhere');
    await other.pith.threads.remove('t');
    await pith.run('5', { thread: 't' }).result;
    expect(JSON.stringify(model.requests[3]!.messages)).not.toMatch(/elsewhere|two/u);
  });

  it('U45 goes on where Pith 0.1 has written the log: version 1 of its entries stays readable', async () => {
    const log = mapLog();
    const entries = readFileSync('test/fixtures/thread-log-1/entries.jsonl', 'utf8').trim().split('\n');
    await log.append('bills', 0, entries);
    let paid = 0;
    const tools = { pay: { needsApproval: true, execute: () => ((paid += 1), 'paid') } };
    const { pith, model } = await pithWith(log, [{ text: 'It is not paid.' }, { text: 'Yes.' }], {
      tools,
      approve: () => ({ no: 'nobody can be asked here' }),
      clock: fakeClock(Date.UTC(2026, 10, 30, 0, 30)), // within the day in which its question is open
    });
    expect(await pith.threads.list()).toMatchObject([{ id: 'bills', title: 'What does the bill say?' }]);
    const { thread, ...ended } = await pith.resume('bills').result;
    expect([thread, ended]).toMatchObject(['bills', { status: 'done', text: 'It is not paid.' }]);
    expect([results(model.requests[0]), paid]).toEqual([expect.stringMatching(/looked.*looked.*nobody can be asked here/u), 0]);
    expect(JSON.stringify(model.requests[0]!.messages)).toContain('It says 12 €.');
    expect(await log.read('bills', 0, entries.length)).toEqual(entries);
    expect(await pith.run('Sure?', { thread: 'bills' }).result).toMatchObject({ status: 'done', text: 'Yes.' });
  });

  it('U45 runs 80 conversations at once, each three times, over a log that waits: none hangs, none loses what was said', async () => {
    const users = Array.from({ length: 80 }, (_, at) => `t${at}`);
    const answer: ScriptedStep = ({ messages }) => ({ text: `answer ${messages.filter(({ role }) => role === 'user').length}` });
    const { pith } = await pithWith(waitingLog(mapLog()), times(240, answer));
    const talk = async (thread: string) => {
      const answers: string[] = [];
      for (const text of ['one', 'two', 'three']) answers.push((await pith.run(text, { thread }).result).text);
      return answers;
    };
    expect(await Promise.all(users.map(talk))).toEqual(users.map(() => ['answer 1', 'answer 2', 'answer 3']));
    const read = await Promise.all(users.map((thread) => pith.threads.messages(thread)));
    expect(read.map((messages) => messages?.length)).toEqual(users.map(() => 6));
  });

  it('U44 takes 60 answers at once over a log that waits: a yes stays a yes, and what the runs used is told', async () => {
    const threads = Array.from({ length: 60 }, (_, at) => `t${at}`);
    const log = mapLog();
    let paid = 0;
    const tools = { pay: { needsApproval: true, execute: () => ((paid += 1), 'paid') } };
    const first = await pithWith(log, times(60, { calls: [call('pay')] }), { tools, approve: () => 'later' });
    const waiting = await Promise.all(threads.map((thread) => first.pith.run('go', { thread }).result));
    await first.pith.close();
    const asked: Question[] = [];
    const approve = (question: Question) => (asked.push(question), 'later' as const);
    const second = await pithWith(waitingLog(log), times(60, { text: 'end' }), { tools, approve });
    const ended = await Promise.all(
      waiting.map(({ thread, questions }) => second.pith.resume(thread, { [questions[0]!.id]: 'yes' }).result),
    );
    expect(ended.map(({ status, text }) => [status, text])).toEqual(threads.map(() => ['done', 'end']));
    expect([paid, asked]).toEqual([60, []]);
  });

  it.each(['a log', 'memory'] as const)(
    'U45 keeps a thread apart from those whose ids begin with its own and a slash: in %s',
    async (where) => {
      const log = mapLog();
      const [inTool, goOn] = [gate(), gate()];
      const tools = { wait: async () => (inTool.open(), await goOn.opened, 'waited') };
      const store = where === 'memory' ? 'memory' : log;
      const first = await pithWith(store, [{ text: 'Hello Ana.' }], { tools });
      await first.pith.run('I am Ana', { thread: 'team/ana' }).result;
      if (store !== 'memory') await first.pith.close();
      const { pith, model } = store === 'memory' ? first : await pithWith(store, [], { tools });
      model.add({ calls: [call('wait')] }, { text: 'Ana.' }, { text: 'team end' });
      const asked = model.requests.length + 1;
      const slow = pith.run('wait', { thread: 'team' }).result;
      await inTool.opened;
      expect((await pith.run('who am I?', { thread: 'team/ana' }).result).text).toBe('Ana.');
      expect(JSON.stringify(model.requests[asked])).toContain('I am Ana');
      goOn.open();
      expect(await slow).toMatchObject({ status: 'done', text: 'team end' });
      expect((await log.read('team', 0, 100)).join('')).not.toContain('team/ana');
      await pith.threads.remove('team');
      expect([await pith.threads.messages('team'), (await pith.threads.messages('team/ana'))?.length]).toEqual([null, 4]);
      await pith.threads.remove('team/ana');
      expect(await pith.threads.list()).toEqual([]);
    },
  );

  it('U45 rejects what waits for a store that never answers once it is closed; a run is aborted', async () => {
    const never = () => new Promise<never>(() => undefined);
    const { pith } = await pithWith({ ...mapLog(), read: never, list: never, remove: never }, []);
    const [run, resumed] = [pith.run('hi', { thread: 't' }).result, pith.resume('t').result];
    const reading = [pith.threads.messages('t'), pith.threads.list(), pith.threads.remove('t')].map((work) =>
      work.catch((error: unknown) => error),
    );
    await pith.close();
    expect(await Promise.all(reading)).toMatchObject([{ code: 'aborted' }, { code: 'aborted' }, { code: 'aborted' }]);
    expect([(await run).status, (await resumed).status]).toEqual(['aborted', 'aborted']);
  });

  it('U45 U47 a run whose entry is never added ends with its signal and with close', async () => {
    const log = { ...mapLog(), append: () => new Promise<never>(() => undefined) };
    const { pith } = await pithWith(log, []);
    const stop = new AbortController();
    const [stopped, closed] = [pith.run('hi', { thread: 's', signal: stop.signal }).result, pith.run('hi', { thread: 'c' }).result];
    stop.abort();
    expect((await stopped).status).toBe('aborted');
    await pith.close();
    expect((await closed).status).toBe('aborted');
  });

  it.each([
    ['repeats a page', (all: readonly string[]) => all.slice(0, 500), 'does not give the entries after the first'],
    ['gives more than it is asked for', (all: readonly string[]) => all, 'must resolve a list of at most 500 texts'],
  ])('U45 a log that %s ends the run, and is not read for ever', async (_, give, said) => {
    const entry = readFileSync('test/fixtures/thread-log-1/entries.jsonl', 'utf8').split('\n')[0]!;
    const rename = JSON.stringify({ v: 1, at: 0, do: 'rename', with: ['bills', 'Bills'] });
    const all = [entry, ...Array.from({ length: 700 }, () => rename)];
    const { pith } = await pithWith({ ...mapLog(), read: async () => give(all) }, []);
    await expect(pith.run('hi', { thread: 'bills' }).result).rejects.toMatchObject({
      code: 'database_failed',
      message: expect.stringContaining(said) as unknown,
    });
  });

  it('U45 lists many threads, the newest first, with few reads at once', async () => {
    const log = mapLog();
    const ids = Array.from({ length: 25 }, (_, at) => `t${at}`);
    const [entry] = readFileSync('test/fixtures/thread-log-1/entries.jsonl', 'utf8').split('\n');
    for (const id of ids) await log.append(id, 0, [entry!.replaceAll('"bills"', JSON.stringify(id))]);
    let [reading, most] = [0, 0];
    const read: ThreadLog['read'] = async (...given) => {
      most = Math.max(most, (reading += 1));
      await new Promise(setImmediate);
      reading -= 1;
      return log.read(...given);
    };
    const { pith } = await pithWith({ ...log, read }, []);
    expect((await pith.threads.list()).map(({ id }) => id)).toEqual(ids.toReversed());
    expect(most).toBe(10);
  });

  it('U45 forgets threads that nobody works in', async () => {
    const log = mapLog();
    const from: [string, number][] = [];
    const counted: ThreadLog = { ...log, read: (thread, at, limit) => (from.push([thread, at]), log.read(thread, at, limit)) };
    const count = 60;
    const { pith } = await pithWith(counted, times(count, { text: 'answer' }));
    for (let at = 0; at < count; at += 20)
      await Promise.all(Array.from({ length: 20 }, (_, of) => pith.run('hi', { thread: `t${at + of}` }).result));
    from.length = 0;
    for (let at = 0; at < count; at += 1) expect(await pith.threads.messages(`t${at}`)).toHaveLength(2);
    expect(from.filter(([, at]) => at === 0).length).toBeGreaterThan(count - 20);
    from.length = 0;
    await pith.threads.messages(`t${count - 1}`);
    expect(from).toEqual([[`t${count - 1}`, 1]]);
  });
});

function times(count: number, step: ScriptedStep): ScriptedStep[] {
  return Array.from({ length: count }, () => step);
}

function call(name: string, input: Record<string, string> = {}) {
  return { name, input };
}
