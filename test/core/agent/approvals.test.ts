import { describe, expect, it } from 'vitest';
import { type JsonValue, type Tool, type ToolCall, toolError } from '../../../core/contract/index.ts';
import { agent, call, createWorld, together, type World, type WorldOptions } from './world.ts';
import { kernelOf } from '../../places.ts';

/** A tool that says at each call whether it asks. */
const LOOKS = { needsApproval: 'maybe', effect: 'write' } as const;

/** A person is asked about `risky` and not about `safe`; `ran` has the inputs of both. */
async function asking(script: WorldOptions['script'], more: Partial<WorldOptions> = {}) {
  const ran: JsonValue[] = [];
  const tools = {
    risky: { needsApproval: 'always' as const, effect: 'write' as const, run: (input: JsonValue) => (ran.push(input), 'did it') },
    safe: { effect: 'write' as const, run: (input: JsonValue) => (ran.push(input), 'was safe') },
  };
  const world = await createWorld({ tools, script, ...more });
  return { world, ran, tools, approvals: world.approvals };
}

/** The same once a person has answered its question. */
async function answered(answer: 'once' | 'always', script: WorldOptions['script']) {
  const asked = await asking(script);
  await asked.world.run('go');
  await asked.world.answer(answer);
  return asked;
}

const lastTool = (world: World) => JSON.stringify(world.model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool'));

describe('a call that needs approval', () => {
  it('K50 suspends the turn: calls before it finish, the question is on disk with its exact arguments and their digest', async () => {
    const input = { file: 'a', list: [1, 2] };
    const { world, ran, approvals } = await asking([together(call('safe', { n: 1 }), call('risky', input), call('safe', { n: 2 }))]);
    const { events, end, questions, results } = await world.run('go');
    expect(end.reason).toBe('awaiting_approval');
    expect(ran).toEqual([{ n: 1 }]);
    expect(results).toMatchObject([{ name: 'safe', ok: true }]);
    const [open, ...others] = await approvals.list();
    expect(others).toEqual([]);
    expect(open).toMatchObject({
      tool: 'ext/risky',
      input,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      rootThreadId: 'thread',
      userId: 'local',
      answer: null,
    });
    expect(open!.expiresAt - open!.createdAt).toBe(24 * 60 * 60 * 1000);
    expect(questions).toEqual([
      {
        type: 'approval-request',
        id: open!.id,
        tool: 'ext/risky',
        input,
        digest: open!.digest,
        agents: ['main'],
        thread: 'thread',
        summary: 'run risky of ext',
        enforced: 'not sandboxed: sees what you see',
        covers: 'every call of risky',
      },
    ]);
    expect(events.at(-2)?.type).toBe('approval-request');
    const unfinished = await world.threads.unfinished('thread');
    expect(unfinished?.turn.state).toBe('awaiting_approval');
    expect(unfinished?.calls.map(({ state }) => state)).toEqual(['finished', 'requested', 'requested']);
  });

  it.each(['once', 'always'] as const)(
    'K50 %s holds for the code that was asked about: when it has changed, it is asked again and says so',
    async (answer) => {
      const { world, ran, tools } = await answered(answer, [call('risky', { n: 1 }), { text: 'done' }]);
      await world.declare('ext', { tools });
      const { questions, end } = await world.resume();
      expect(end.reason).toBe('awaiting_approval');
      expect(ran).toEqual([]);
      expect(questions).toMatchObject([{ details: expect.stringContaining("'ext' has changed since you approved this") }]);
      await world.answer(answer);
      expect((await world.resume()).end.reason).toBe('done');
      expect(ran).toEqual([{ n: 1 }]);
    },
  );

  it('K50 S72 a yes holds for the subject that was asked about, an always too, and the call is told it', async () => {
    let subject = 'digest-1';
    const told: (string | undefined)[] = [];
    const risky = {
      ...LOOKS,
      asks: () => ({ text: `runs ${subject}`, subject }),
      run: (_: JsonValue, { approved }: { readonly approved?: string }) => {
        // The second call is covered; before the third the subject changes.
        if (told.push(approved) === 2) subject = 'digest-3';
        return 'did it';
      },
    };
    const script = [...[1, 2, 3].map((n) => call('risky', { n })), { text: 'done' }];
    const { world } = await asking(script, { tools: { risky } });
    expect((await world.run('go')).questions).toMatchObject([{ details: 'runs digest-1' }]);
    await world.answer('once');
    subject = 'digest-2';
    const details = expect.stringMatching(/^what would run has changed since.*\nruns digest-2$/u);
    expect((await world.resume()).questions).toMatchObject([{ details }]);
    expect(told).toEqual([]);
    await world.answer('always');
    const { questions } = await world.resume();
    expect(told).toEqual(['digest-2', 'digest-2']);
    expect(questions).toMatchObject([{ details: 'runs digest-3' }]);
    await world.answer('once');
    expect((await world.resume()).end.reason).toBe('done');
    expect(told.at(-1)).toBe('digest-3');
  });

  it('V1 a NUL in the arguments, the id or the name of a call is asked about, runs, and leaves a conversation that goes on', async () => {
    const seen: JsonValue[] = [];
    const risky = { ...LOOKS, asks: () => 'writes a\0b', run: (input: JsonValue) => (seen.push(input), 'did it') };
    const odd = { calls: [{ id: 'c\0', name: 'ris\0ky', input: { text: 'a\0b' } }] };
    const { world, approvals } = await asking([odd, { text: 'done' }, odd, { text: 'well' }], { tools: { risky } });
    expect((await world.run('go')).questions).toMatchObject([
      { details: expect.stringContaining('writes a\u2400b'), input: { text: 'a\0b' } },
    ]);
    await world.answer('once', { reason: 'be\0cause' });
    expect((await world.resume()).end).toMatchObject({ reason: 'done', text: 'done' });
    expect(seen).toEqual([{ text: 'a\0b' }]);
    expect((await world.run('again')).end.reason).toBe('awaiting_approval');
    expect((await world.run('no\0, rather not')).end).toMatchObject({ reason: 'done', text: 'well' });
    expect(await approvals.list()).toEqual([]);
    expect(JSON.stringify(world.model.requests.at(-1)?.messages)).toContain('they wrote instead: no');
  });

  it('K50 a tool that cannot say whether it asks, asks, and is not allowed for always', async () => {
    const broken = { ...LOOKS, asks: () => Promise.reject(new Error('broken')) as never };
    const { world } = await asking([call('broken')], { tools: { broken } });
    expect((await world.run('go')).questions).toMatchObject([{ tool: 'ext/broken', once: true }]);
  });

  it('K50 questions are kept for 30 days, and an always for good', async () => {
    const { world, approvals } = await asking([1, 2, 3].map((n) => call('risky', { n })));
    const asked = async (threadId: string, answer?: 'no' | 'always') => {
      await world.run('go', { threadId });
      const { id } = (await approvals.list()).at(-1)!;
      if (answer !== undefined) await approvals.answer(id, { answer, by: 'ann' });
      return id;
    };
    const [old, kept] = [await asked('one', 'no'), await asked('two', 'always')];
    await world.clock.advance(31 * 86_400_000);
    await asked('three');
    expect(await approvals.get(old)).toBeNull();
    expect(await approvals.get(kept)).toMatchObject({ answer: 'always' });
    await expect(approvals.answer('nothing', { answer: 'once', by: 'ann' })).rejects.toMatchObject({ code: 'approval_unknown' });
  });

  it('K50 once: the call runs when the turn is resumed, siblings are neither run nor told again, and the next call asks again', async () => {
    const both = together(call('safe'), call('risky', { n: 1 }));
    const { world, ran, approvals } = await asking([both, call('risky', { n: 2 }), { text: 'done' }]);
    await world.run('go');
    const { id } = await world.answer('once');
    expect(await approvals.get(id)).toMatchObject({ answer: 'once', by: 'ann' });
    const { results, end } = await world.resume();
    expect(ran).toEqual([{}, { n: 1 }]);
    expect(results).toMatchObject([{ name: 'risky', ok: true, output: 'did it' }]);
    expect(end.reason).toBe('awaiting_approval');
    expect(await world.answer('once')).toMatchObject({ input: { n: 2 } });
    expect((await world.resume()).end).toMatchObject({ reason: 'done', text: 'done' });
    expect(ran).toEqual([{}, { n: 1 }, { n: 2 }]);
    expect(JSON.stringify(world.model.requests[1]?.messages)).toMatch(/was safe.*did it/su);
  });

  it('K50 once binds the digest: the same call with other arguments asks again', async () => {
    const { world, ran } = await answered('once', [call('risky', { n: 1 }), { text: 'done' }]);
    await world.store.write((statement) => void statement(`UPDATE calls SET input = '{"n":666}'`));
    const { end, questions } = await world.resume();
    expect(end.reason).toBe('awaiting_approval');
    expect(ran).toEqual([]);
    expect(questions).toMatchObject([{ input: { n: 666 } }]);
    await world.answer('no');
    expect((await world.resume()).end.reason).toBe('done');
    expect(ran).toEqual([]);
  });

  it('K50 always: that tool asks no more in that thread, and what else it asks there is answered; other threads and tools ask', async () => {
    const twice = together(call('risky', { n: 1 }), call('risky', { n: 2 }));
    const script = [twice, call('risky', { n: 3 }), { text: 'done' }, call('risky'), call('dear')];
    const { world, ran, approvals, tools } = await asking(script, { askAlways: ['ext/dear'] });
    Object.assign(tools, { dear: {}, risky: { ...tools.risky, effect: 'read' } }); // two of them ask at once
    await world.run('go');
    const [, second] = await approvals.list();
    await world.answer('always');
    expect(await approvals.get(second!.id)).toMatchObject({ answer: 'always', by: 'ann' });
    expect((await world.resume()).end).toMatchObject({ reason: 'done' });
    expect(ran).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect((await world.run('go', { threadId: 'other' })).end.reason).toBe('awaiting_approval');
    expect((await world.run('go')).end.reason).toBe('awaiting_approval');
    expect((await approvals.list()).map(({ tool, rootThreadId }) => [tool, rootThreadId]).sort()).toEqual([
      ['ext/dear', 'thread'],
      ['ext/risky', 'other'],
    ]);
  });

  it('T18 F12 always of a tool that looks at its input is for that very input; once offers none, by any door', async () => {
    const risky = { ...LOOKS, asks: () => 'look at this', run: () => 'did it' };
    const careful = { ...risky, asks: () => ({ text: 'changes what runs later', once: true }) };
    const script = [...[1, 1, 2].map((n) => call('risky', { n })), call('careful'), call('careful')];
    const { world, approvals } = await asking(script, { tools: { risky, careful } });
    await world.run('go');
    await world.answer('always');
    const second = await world.resume();
    expect(second.results).toHaveLength(2);
    expect(second.questions).toMatchObject([{ input: { n: 2 } }]);
    expect(second.questions[0]).not.toHaveProperty('once');
    await world.answer('once');
    const asksOnce = { tool: 'ext/careful', once: true, details: 'changes what runs later' };
    expect((await world.resume()).questions).toMatchObject([asksOnce]);
    const message = expect.stringContaining("'ext/careful' cannot be approved always");
    await expect(world.answer('always')).rejects.toMatchObject({ code: 'not_allowed', message });
    const { kernel } = await kernelOf({ sandbox: world.sandbox, only: [] });
    const elsewhere = kernel.approvals.answer((await approvals.list())[0]!.id, { answer: 'always', by: 'bob' });
    await expect(elsewhere).rejects.toMatchObject({ code: 'not_allowed', message });
    await world.answer('once');
    expect((await world.resume()).questions).toMatchObject([asksOnce]);
  });

  it.each([['the files'], [undefined]])('T18 always covers the text that was shown too, with the subject %s', async (subject) => {
    const texts = ['reads a.txt', 'reads a.txt', 'deletes all'];
    const ran: string[] = [];
    const vague = {
      ...LOOKS,
      asks: () => ({ text: texts[ran.length] ?? '', ...(subject === undefined ? {} : { subject }) }),
      run: () => (ran.push('did it'), 'did it'),
    };
    const { world } = await asking([call('vague'), call('vague'), call('vague'), { text: 'done' }], { tools: { vague } });
    await world.run('go');
    await world.answer('always');
    const { questions } = await world.resume();
    expect(ran).toHaveLength(2);
    expect(questions).toMatchObject([{ details: 'deletes all' }]);
  });

  it('T18 F12 T20 always of a tool that asks for every call ends when it describes itself otherwise', async () => {
    const script = [call('risky', { n: 1 }), call('risky', { n: 2 }), { text: 'done' }, call('risky', { n: 3 })];
    const { world, ran, approvals, tools } = await answered('always', script);
    expect((await world.resume()).end.reason).toBe('done');
    expect(ran).toEqual([{ n: 1 }, { n: 2 }]);
    await world.declare('ext', { tools: { ...tools, risky: { ...tools.risky, description: 'Does something else.' } } });
    expect((await world.run('again')).end.reason).toBe('awaiting_approval');
    expect(await approvals.list()).toMatchObject([{ input: { n: 3 } }]);
  });

  it('T18 F12 an always from before it was said what it covers gives nothing, and a question from before takes none', async () => {
    const { world, ran } = await answered('always', [call('risky', { n: 1 }), { text: 'done' }, call('risky', { n: 2 })]);
    const fromBefore = () => world.store.write((statement) => void statement('UPDATE approvals SET always = NULL'));
    await fromBefore();
    expect((await world.resume()).end.reason).toBe('done');
    expect(ran).toEqual([{ n: 1 }]); // the call that it answered
    expect((await world.run('again')).end.reason).toBe('awaiting_approval');
    await fromBefore();
    await expect(world.answer('always')).rejects.toMatchObject({ code: 'not_allowed' });
  });

  it('K50 no: the model sees the reason, and the call never runs', async () => {
    const { world, ran } = await asking([call('risky'), { text: 'I see' }]);
    await world.run('go');
    await world.answer('no', { reason: 'use the other file' });
    const { results, end } = await world.resume();
    expect(end).toMatchObject({ reason: 'done', text: 'I see' });
    expect(results).toMatchObject([{ ok: false, error: { code: 'approval_denied' } }]);
    expect(lastTool(world)).toContain('use the other file');
    expect(ran).toEqual([]);
  });

  it('K50 resumed before anybody answered, it asks the same question again and runs nothing', async () => {
    const { world, ran, approvals } = await asking([call('risky')]);
    const first = await world.run('go');
    const again = await world.resume();
    expect(again.end.reason).toBe('awaiting_approval');
    expect(again.questions).toEqual(first.questions);
    expect(await approvals.list()).toHaveLength(1);
    expect(ran).toEqual([]);
  });

  it('K50 a new message in the thread answers no with itself as the reason', async () => {
    const { world, ran, approvals } = await asking([call('risky'), { text: 'fine' }]);
    await world.run('go');
    const [open] = await approvals.list();
    expect((await world.run('leave that, what is the time?', { userId: 'ann' })).end).toMatchObject({ reason: 'done', text: 'fine' });
    expect(await approvals.get(open!.id)).toMatchObject({ answer: 'no', by: 'ann', reason: expect.stringContaining('leave that') });
    expect(lastTool(world)).toMatch(/approval_denied.*leave that, what is the time/su);
    expect(world.model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(ran).toEqual([]);
    await expect(approvals.answer(open!.id, { answer: 'once', by: 'bob' })).rejects.toMatchObject({ code: 'approval_answered' });
  });

  it('K50 what nobody answered within 24 h counts as no', async () => {
    const { world, ran, approvals } = await asking([call('risky'), { text: 'nobody was there' }]);
    await world.run('go');
    const [open] = await approvals.list();
    await world.clock.advance(24 * 60 * 60 * 1000 - 1);
    expect(await approvals.list()).toHaveLength(1);
    await world.clock.advance(1);
    expect(await approvals.list()).toEqual([]);
    expect(await approvals.get(open!.id)).toMatchObject({ answer: 'no', by: null, reason: 'nobody answered within 24 h' });
    await expect(approvals.answer(open!.id, { answer: 'once', by: 'ann' })).rejects.toMatchObject({ code: 'approval_answered' });
    expect((await world.resume()).end.reason).toBe('done');
    expect(lastTool(world)).toContain('nobody answered within 24 h');
    expect(ran).toEqual([]);
  });
});

/** `main` delegates to `helper`, as a delegating extension does: a thread and a key of its own for each call. */
async function delegating(script: WorldOptions['script'], more: { effect?: Tool['effect']; swallows?: boolean; sandbox?: string } = {}) {
  const { effect = 'idempotent', swallows = false, sandbox } = more;
  const ran: JsonValue[] = [];
  const run = async (_input: JsonValue, { turn, signal, idempotencyKey: key }: ToolCall) => {
    const request = { agent: 'helper', threadId: `${turn.threadId}/${key}`, input: 'help', parent: turn, key };
    const { end } = await world.collect(request, signal);
    if (end.reason === 'awaiting_approval' && !swallows) return toolError('awaiting_approval', 'the helper waits for a person');
    return `${end.reason}: ${end.text}`;
  };
  const agents = [agent('main', { usesTools: ['boss'] }), agent('helper', { usesTools: ['ext'] })];
  const side = { effect: 'write' as const, run: () => (ran.push('side'), 'aside') };
  const risky = { needsApproval: 'always' as const, effect: 'write' as const, run: (input: JsonValue) => (ran.push(input), 'did it') };
  const extensions = { boss: { tools: { delegate: { effect, run, runsAgent: true as const }, side } } };
  const world: World = await createWorld({ agents, extensions, tools: { risky }, script, sandbox });
  return { world, ran, approvals: world.approvals };
}

describe('a question of an agent that another one called', () => {
  const risky = (n: number) => call('risky', { n });

  it.each(['idempotent', 'write'] as const)(
    'K50 reaches the person with the path of agents; parents suspend with it, and the answer continues them all in another process, by a tool of the effect %s',
    async (effect) => {
      const first = await delegating([together(call('side'), call('delegate')), risky(1)], { effect });
      const { questions, end } = await first.world.run('go');
      expect(end.reason).toBe('awaiting_approval');
      expect(questions).toMatchObject([{ tool: 'ext/risky', agents: ['main', 'helper'], thread: 'thread', input: { n: 1 } }]);
      expect(first.ran).toEqual(['side']);
      const [open] = await first.approvals.list();
      expect(open).toMatchObject({ rootThreadId: 'thread', path: [{ agentId: 'main', threadId: 'thread' }, { agentId: 'helper' }] });
      expect((await first.world.threads.unfinished(open!.threadId))?.turn.state).toBe('awaiting_approval');

      const { world, ran } = await delegating([{ text: 'helped' }, { text: 'all done' }], { effect, sandbox: first.world.sandbox });
      await world.answer('once');
      expect((await world.resume()).end).toMatchObject({ reason: 'done', text: 'all done' });
      expect([first.ran, ran]).toEqual([['side'], [{ n: 1 }]]);
      const [key, again] = [first.world, world].map(({ calls }) => calls.find(({ tool }) => tool === 'boss/delegate')?.key);
      expect(again).toBe(key);
      expect(JSON.stringify(world.model.requests.at(-1)?.messages)).toContain('done: helped');
      expect([first.world, world].map(({ model }) => model.requests.length)).toEqual([2, 2]);
    },
  );

  it('K50 always binds the thread of the person, so it holds for all that is called from there', async () => {
    const delegate = call('delegate');
    const { world, ran } = await delegating([delegate, risky(1), { text: 'a' }, delegate, risky(2), { text: 'b' }, { text: 'done' }]);
    await world.run('go');
    await world.answer('always');
    expect((await world.resume()).end).toMatchObject({ reason: 'done', text: 'done' });
    expect(ran).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('K50 a new message of the person ends the called agent too, and tells the model why', async () => {
    const { world, ran, approvals } = await delegating([call('delegate'), risky(1), { text: 'fine' }]);
    await world.run('go');
    const [open] = await approvals.list();
    expect((await world.run('forget it')).end).toMatchObject({ reason: 'done', text: 'fine' });
    expect(await approvals.get(open!.id)).toMatchObject({ answer: 'no', reason: 'they wrote instead: forget it' });
    expect(await world.threads.unfinished(open!.threadId)).toBeNull();
    expect(JSON.stringify(world.model.requests.at(-1)?.messages)).toMatch(/approval_denied.*'ext\/risky'.*forget it/su);
    expect(ran).toEqual([]);
  });

  it('K50 a question whose callers have ended is withdrawn; a tool alone cannot suspend its turn', async () => {
    const { world, approvals } = await delegating([call('delegate'), risky(1), { text: 'I went on' }], { swallows: true });
    const { questions, end } = await world.run('go');
    expect(end).toMatchObject({ reason: 'done', text: 'I went on' });
    expect(await approvals.list()).toEqual([]);
    expect(await approvals.get(questions[0]!.id)).toMatchObject({ answer: 'no', by: null });

    const lie = { run: () => toolError('awaiting_approval', 'wait for me') };
    const liar = await createWorld({ tools: { lie }, script: [call('lie'), { text: 'no' }] });
    expect((await liar.run('go')).end).toMatchObject({ reason: 'done', text: 'no' });
  });
});
