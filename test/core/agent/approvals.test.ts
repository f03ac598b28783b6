import { describe, expect, it } from 'vitest';
import type { JsonValue, TurnEvent } from '../../../core/contract/index.ts';
import { agent, createWorld, type World, type WorldOptions } from './world.ts';
import { kernelOf } from '../../places.ts';

const agents = [agent('main', { usesTools: ['ext'] })];
const call = (name: string, input: JsonValue = {}) => ({ calls: [{ name, input }] });

async function asking(script: WorldOptions['script'], more: Partial<WorldOptions> = {}) {
  const ran: JsonValue[] = [];
  const tools = {
    risky: { needsApproval: 'always' as const, effect: 'write' as const, run: (input: JsonValue) => (ran.push(input), 'did it') },
    safe: { effect: 'write' as const, run: (input: JsonValue) => (ran.push(input), 'was safe') },
  };
  const world = await createWorld({ agents, extensions: { ext: { tools } }, script, ...more });
  const { approvals } = world;
  const resume = () => world.collect({ resume: true });
  return { world, ran, approvals, resume, tools };
}

const questions = (events: readonly TurnEvent[]) => events.filter((event) => event.type === 'approval-request');
const results = (events: readonly TurnEvent[]) => events.filter((event) => event.type === 'tool-result');
const lastTool = (world: World) => JSON.stringify(world.model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool'));

describe('a call that needs approval', () => {
  it('K50 suspends the turn: sibling calls finish, the question is on disk with its exact arguments and their digest', async () => {
    const input = { file: 'a', list: [1, 2] };
    const both = {
      calls: [
        { name: 'risky', input },
        { name: 'safe', input: { n: 1 } },
      ],
    };
    const { world, ran, approvals } = await asking([both]);
    const { events, end } = await world.run('go');
    expect(end.reason).toBe('awaiting_approval');
    expect(ran).toEqual([{ n: 1 }]);
    expect(results(events)).toMatchObject([{ name: 'safe', ok: true }]);
    const [open] = await approvals.list();
    expect(await approvals.list()).toHaveLength(1);
    expect(open).toMatchObject({
      tool: 'ext/risky',
      input,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      rootThreadId: 'thread',
      userId: 'local',
      answer: null,
    });
    expect(open!.expiresAt - open!.createdAt).toBe(24 * 60 * 60 * 1000);
    expect(questions(events)).toEqual([
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
    expect((await world.threads.unfinished('thread'))?.turn.state).toBe('awaiting_approval');
    expect((await world.threads.unfinished('thread'))?.calls.map(({ state }) => state)).toEqual(['requested', 'finished']);
  });

  it.each(['once', 'always'] as const)(
    'K50 %s holds for the code that was asked about: when it has changed, it is asked again and says so',
    async (answer) => {
      const { world, ran, approvals, resume, tools } = await asking([call('risky', { n: 1 }), { text: 'done' }]);
      await world.run('go');
      await approvals.answer((await approvals.list())[0]!.id, { answer, by: 'ann' });
      await world.declare('ext', { tools });
      const { events, end } = await resume();
      expect(end.reason).toBe('awaiting_approval');
      expect(ran).toEqual([]);
      expect(questions(events)).toMatchObject([{ details: expect.stringContaining("'ext' has changed since you approved this") }]);
      const [again] = await approvals.list();
      await approvals.answer(again!.id, { answer, by: 'ann' });
      expect((await resume()).end.reason).toBe('done');
      expect(ran).toEqual([{ n: 1 }]);
    },
  );

  it('K50 S72 a yes holds for the subject that was asked about, an always too, and the call is told it', async () => {
    let subject = 'digest-1';
    const told: (string | undefined)[] = [];
    const risky = {
      needsApproval: 'maybe' as const,
      effect: 'write' as const,
      asks: () => ({ text: `runs ${subject}`, subject }),
      run: (_: JsonValue, { approved }: { readonly approved?: string }) => (told.push(approved), 'did it'),
    };
    const steps = [call('risky', { n: 1 }), call('risky', { n: 2 }), call('risky', { n: 3 }), { text: 'done' }];
    const world = await createWorld({ agents, extensions: { ext: { tools: { risky } } }, script: steps });
    const { approvals } = world;
    const answer = async (said: 'once' | 'always') => approvals.answer((await approvals.list())[0]!.id, { answer: said, by: 'ann' });
    const first = await world.run('go');
    expect(questions(first.events)).toMatchObject([{ details: 'runs digest-1' }]);
    await answer('once');
    subject = 'digest-2';
    const second = await world.collect({ resume: true });
    expect(questions(second.events)).toMatchObject([
      { details: expect.stringMatching(/^what would run has changed since.*\nruns digest-2$/u) },
    ]);
    expect(told).toEqual([]);
    await answer('always');
    // The second call is covered; before the third the subject changes.
    risky.run = (_, { approved }) => {
      if (told.push(approved) === 2) subject = 'digest-3';
      return 'did it';
    };
    const third = await world.collect({ resume: true });
    expect(told).toEqual(['digest-2', 'digest-2']);
    expect(questions(third.events)).toMatchObject([{ details: 'runs digest-3' }]);
    await answer('once');
    expect((await world.collect({ resume: true })).end.reason).toBe('done');
    expect(told.at(-1)).toBe('digest-3');
  });

  it('K50 a tool that cannot say whether it asks, asks, and is not allowed for always', async () => {
    const broken = { needsApproval: 'maybe' as const, asks: () => Promise.reject(new Error('broken')) as never };
    const world = await createWorld({ agents, extensions: { ext: { tools: { broken } } }, script: [call('broken')] });
    expect(questions((await world.run('go')).events)).toMatchObject([{ tool: 'ext/broken', once: true }]);
  });

  it('K50 questions are kept for 30 days, and an always for good', async () => {
    const { world } = await asking([1, 2, 3].map((n) => call('risky', { n })));
    const { approvals, clock } = world;
    const asked = async (threadId: string, answer?: 'no' | 'always') => {
      await world.run('go', { threadId });
      const { id } = (await approvals.list()).at(-1)!;
      if (answer !== undefined) await approvals.answer(id, { answer, by: 'ann' });
      return id;
    };
    const [old, kept] = [await asked('one', 'no'), await asked('two', 'always')];
    await clock.advance(31 * 86_400_000);
    await asked('three');
    expect(await approvals.get(old)).toBeNull();
    expect(await approvals.get(kept)).toMatchObject({ answer: 'always' });
    await expect(approvals.answer('nothing', { answer: 'once', by: 'ann' })).rejects.toMatchObject({ code: 'approval_unknown' });
  });

  it('K50 once: the call runs when the turn is resumed, siblings are neither run nor told again, and the next call asks again', async () => {
    const both = {
      calls: [
        { name: 'risky', input: { n: 1 } },
        { name: 'safe', input: {} },
      ],
    };
    const { world, ran, approvals, resume } = await asking([both, call('risky', { n: 2 }), { text: 'done' }]);
    await world.run('go');
    const [first] = await approvals.list();
    await approvals.answer(first!.id, { answer: 'once', by: 'ann' });
    expect(await approvals.get(first!.id)).toMatchObject({ answer: 'once', by: 'ann' });
    const { events, end } = await resume();
    expect(ran).toEqual([{}, { n: 1 }]);
    expect(results(events)).toMatchObject([{ name: 'risky', ok: true, output: 'did it' }]);
    expect(end.reason).toBe('awaiting_approval');
    const [second] = await approvals.list();
    expect(second).toMatchObject({ input: { n: 2 } });
    await approvals.answer(second!.id, { answer: 'once', by: 'ann' });
    expect((await resume()).end).toMatchObject({ reason: 'done', text: 'done' });
    expect(ran).toEqual([{}, { n: 1 }, { n: 2 }]);
    expect(JSON.stringify(world.model.requests[1]?.messages)).toMatch(/did it.*was safe/su);
  });

  it('K50 once binds the digest: the same call with other arguments asks again', async () => {
    const { world, ran, approvals, resume } = await asking([call('risky', { n: 1 }), { text: 'done' }]);
    await world.run('go');
    await approvals.answer((await approvals.list())[0]!.id, { answer: 'once', by: 'ann' });
    await world.store.write((statement) => void statement(`UPDATE calls SET input = '{"n":666}'`));
    const { end, events } = await resume();
    expect(end.reason).toBe('awaiting_approval');
    expect(ran).toEqual([]);
    expect(questions(events)).toMatchObject([{ input: { n: 666 } }]);
    await approvals.answer((await approvals.list())[0]!.id, { answer: 'no', by: 'ann' });
    expect((await resume()).end.reason).toBe('done');
    expect(ran).toEqual([]);
  });

  it('K50 always: that tool asks no more in that thread, and what else it asks there is answered; other threads and tools ask', async () => {
    const twice = { calls: [1, 2].map((n) => ({ name: 'risky', input: { n } })) };
    const script = [twice, call('risky', { n: 3 }), { text: 'done' }, call('risky'), call('dear')];
    const { world, ran, approvals, resume, tools } = await asking(script, { askAlways: ['ext/dear'] });
    Object.assign(tools, { dear: {} });
    await world.run('go');
    const [first, second] = await approvals.list();
    await approvals.answer(first!.id, { answer: 'always', by: 'ann' });
    expect(await approvals.get(second!.id)).toMatchObject({ answer: 'always', by: 'ann' });
    expect((await resume()).end).toMatchObject({ reason: 'done' });
    expect(ran).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect((await world.run('go', { threadId: 'other' })).end.reason).toBe('awaiting_approval');
    expect((await world.run('go')).end.reason).toBe('awaiting_approval');
    expect((await approvals.list()).map(({ tool, rootThreadId }) => [tool, rootThreadId]).sort()).toEqual([
      ['ext/dear', 'thread'],
      ['ext/risky', 'other'],
    ]);
  });

  it('T18 F12 always of a tool that looks at its input is for that very input; once offers none, by any door', async () => {
    const risky = { needsApproval: 'maybe' as const, effect: 'write' as const, asks: () => 'look at this', run: () => 'did it' };
    const careful = { ...risky, asks: () => ({ text: 'changes what runs later', once: true }) };
    const steps = [call('risky', { n: 1 }), call('risky', { n: 1 }), call('risky', { n: 2 }), call('careful'), call('careful')];
    const world = await createWorld({ agents, extensions: { ext: { tools: { risky, careful } } }, script: steps });
    const { approvals } = world;
    const answer = async (said: 'once' | 'always') => approvals.answer((await approvals.list())[0]!.id, { answer: said, by: 'ann' });
    await world.run('go');
    await answer('always');
    const second = await world.collect({ resume: true });
    expect(results(second.events)).toHaveLength(2);
    expect(questions(second.events)).toMatchObject([{ input: { n: 2 } }]);
    expect(questions(second.events)[0]).not.toHaveProperty('once');
    await answer('once');
    const third = await world.collect({ resume: true });
    expect(questions(third.events)).toMatchObject([{ tool: 'ext/careful', once: true, details: 'changes what runs later' }]);
    await expect(answer('always')).rejects.toMatchObject({
      code: 'not_allowed',
      message: expect.stringContaining("'ext/careful' cannot be approved always"),
    });
    const other = await kernelOf({ sandbox: world.sandbox, only: [] });
    await expect(other.kernel.approvals.answer((await approvals.list())[0]!.id, { answer: 'always', by: 'bob' })).rejects.toMatchObject({
      code: 'not_allowed',
    });
    await answer('once');
    expect(questions((await world.collect({ resume: true })).events)).toMatchObject([{ tool: 'ext/careful', once: true }]);
  });

  it.each([['the files'], [undefined]])('T18 always covers the text that was shown too, with the subject %s', async (subject) => {
    const texts = ['reads a.txt', 'reads a.txt', 'deletes all'];
    const ran: string[] = [];
    const vague = {
      needsApproval: 'maybe' as const,
      effect: 'write' as const,
      asks: () => ({ text: texts[ran.length] ?? '', ...(subject === undefined ? {} : { subject }) }),
      run: () => (ran.push('did it'), 'did it'),
    };
    const steps = [call('vague'), call('vague'), call('vague'), { text: 'done' }];
    const world = await createWorld({ agents, extensions: { ext: { tools: { vague } } }, script: steps });
    const { approvals } = world;
    await world.run('go');
    await approvals.answer((await approvals.list())[0]!.id, { answer: 'always', by: 'ann' });
    const { events } = await world.collect({ resume: true });
    expect(ran).toHaveLength(2);
    expect(questions(events)).toMatchObject([{ details: 'deletes all' }]);
  });

  it('T18 F12 T20 always of a tool that asks for every call ends when it describes itself otherwise', async () => {
    const { world, ran, approvals, resume, tools } = await asking([
      call('risky', { n: 1 }),
      call('risky', { n: 2 }),
      { text: 'done' },
      call('risky', { n: 3 }),
    ]);
    await world.run('go');
    await approvals.answer((await approvals.list())[0]!.id, { answer: 'always', by: 'ann' });
    expect((await resume()).end.reason).toBe('done');
    expect(ran).toEqual([{ n: 1 }, { n: 2 }]);
    await world.declare('ext', { tools: { ...tools, risky: { ...tools.risky, description: 'Does something else.' } } });
    expect((await world.run('again')).end.reason).toBe('awaiting_approval');
    expect(await approvals.list()).toMatchObject([{ input: { n: 3 } }]);
  });

  it('T18 F12 an always from before it was said what it covers gives nothing, and a question from before takes none', async () => {
    const { world, ran, approvals } = await asking([call('risky', { n: 1 }), { text: 'done' }, call('risky', { n: 2 })]);
    await world.run('go');
    await approvals.answer((await approvals.list())[0]!.id, { answer: 'always', by: 'ann' });
    await world.store.write((statement) => void statement('UPDATE approvals SET always = NULL'));
    expect((await world.collect({ resume: true })).end.reason).toBe('done');
    expect(ran).toEqual([{ n: 1 }]); // the call that it answered
    expect((await world.run('again')).end.reason).toBe('awaiting_approval');
    await world.store.write((statement) => void statement('UPDATE approvals SET always = NULL'));
    await expect(approvals.answer((await approvals.list())[0]!.id, { answer: 'always', by: 'ann' })).rejects.toMatchObject({
      code: 'not_allowed',
    });
  });

  it('K50 no: the model sees the reason, and the call never runs', async () => {
    const { world, ran, approvals, resume } = await asking([call('risky'), { text: 'I see' }]);
    await world.run('go');
    await approvals.answer((await approvals.list())[0]!.id, { answer: 'no', reason: 'use the other file', by: 'ann' });
    const { events, end } = await resume();
    expect(end).toMatchObject({ reason: 'done', text: 'I see' });
    expect(results(events)).toMatchObject([{ ok: false, error: { code: 'approval_denied' } }]);
    expect(lastTool(world)).toContain('use the other file');
    expect(ran).toEqual([]);
  });

  it('K50 resumed before anybody answered, it asks the same question again and runs nothing', async () => {
    const { world, ran, approvals, resume } = await asking([call('risky')]);
    const first = await world.run('go');
    const again = await resume();
    expect(again.end.reason).toBe('awaiting_approval');
    expect(questions(again.events)).toEqual(questions(first.events));
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
    expect(world.model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(ran).toEqual([]);
    await expect(approvals.answer(open!.id, { answer: 'once', by: 'bob' })).rejects.toMatchObject({ code: 'approval_answered' });
  });

  it('K50 what nobody answered within 24 h counts as no', async () => {
    const { world, ran, approvals, resume } = await asking([call('risky'), { text: 'nobody was there' }]);
    await world.run('go');
    const [open] = await approvals.list();
    await world.clock.advance(24 * 60 * 60 * 1000 - 1);
    expect(await approvals.list()).toHaveLength(1);
    await world.clock.advance(1);
    expect(await approvals.list()).toEqual([]);
    expect(await approvals.get(open!.id)).toMatchObject({ answer: 'no', by: null, reason: 'nobody answered within 24 h' });
    await expect(approvals.answer(open!.id, { answer: 'once', by: 'ann' })).rejects.toMatchObject({ code: 'approval_answered' });
    expect((await resume()).end.reason).toBe('done');
    expect(lastTool(world)).toContain('nobody answered within 24 h');
    expect(ran).toEqual([]);
  });
});
