import { describe, expect, it } from 'vitest';
import { type JsonValue, type Tool, type ToolCall, toolError, type TurnEvent } from '../../../core/contract/index.ts';
import type { ScriptedStep } from 'pith/testing';
import { agent, calls, createWorld, type End, type World } from './world.ts';

const delegate: ScriptedStep = { calls: [{ name: 'delegate', input: {} }] };
const risky = (n: number): ScriptedStep => ({ calls: [{ name: 'risky', input: { n } }] });

/** `main` delegates to `helper`, as a delegating extension does: a thread and a key of its own for each call. */
async function delegating(
  script: readonly ScriptedStep[],
  { effect = 'idempotent' as NonNullable<Tool['effect']>, swallows = false, sandbox = undefined as string | undefined } = {},
) {
  const ran: JsonValue[] = [];
  const run = async (_input: JsonValue, { turn, signal, idempotencyKey: key }: ToolCall) => {
    let end: End | undefined;
    const request = { agent: 'helper', threadId: `${turn.threadId}/${key}`, input: 'help', parent: turn, key };
    for await (const event of world.kernel.agents.run(request, signal)) if (event.type === 'turn-end') end = event;
    if (end?.reason === 'awaiting_approval' && !swallows) return toolError('awaiting_approval', 'the helper waits for a person');
    return `${end?.reason}: ${end?.text}`;
  };
  const agents = [agent('main', { usesTools: ['boss'] }), agent('helper', { usesTools: ['ext'] })];
  const extensions = {
    boss: { tools: { delegate: { effect, run }, side: { effect: 'write' as const, run: () => (ran.push('side'), 'aside') } } },
    ext: {
      tools: {
        risky: { needsApproval: 'always' as const, effect: 'write' as const, run: (input: JsonValue) => (ran.push(input), 'did it') },
      },
    },
  };
  const world: World = await createWorld({ agents, extensions, script, sandbox });
  return { world, ran, approvals: world.approvals, resume: () => world.collect({ resume: true }) };
}

const questions = (events: readonly TurnEvent[]) => events.filter((event) => event.type === 'approval-request');

describe('a question of an agent that another one called', () => {
  it('K50 reaches the person with the path of agents; parents suspend with it, and the answer continues them all', async () => {
    const both: ScriptedStep = { calls: calls('delegate', 'side') };
    const { world, ran, approvals, resume } = await delegating([both, risky(1), { text: 'helped' }, { text: 'all done' }]);
    const { events, end } = await world.run('go');
    expect(end.reason).toBe('awaiting_approval');
    expect(questions(events)).toMatchObject([{ tool: 'ext/risky', agents: ['main', 'helper'], thread: 'thread', input: { n: 1 } }]);
    expect(ran).toEqual(['side']);
    const [open] = await approvals.list();
    expect(open).toMatchObject({ rootThreadId: 'thread', path: [{ agentId: 'main', threadId: 'thread' }, { agentId: 'helper' }] });
    expect((await world.threads.unfinished(open!.threadId))?.turn.state).toBe('awaiting_approval');

    await approvals.answer(open!.id, { answer: 'once', by: 'ann' });
    const after = await resume();
    expect(after.end).toMatchObject({ reason: 'done', text: 'all done' });
    expect(ran).toEqual(['side', { n: 1 }]);
    const keys = world.calls.filter(({ tool }) => tool === 'boss/delegate').map(({ key }) => key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(JSON.stringify(world.model.requests.at(-1)?.messages)).toContain('done: helped');
    expect(world.model.requests).toHaveLength(4);
  });

  it('K50 continues in another process after the first was killed', async () => {
    const first = await delegating([delegate, risky(1)]);
    await first.world.run('go');
    const second = await delegating([{ text: 'helped' }, { text: 'all done' }], { sandbox: first.world.sandbox });
    await second.approvals.answer((await second.approvals.list())[0]!.id, { answer: 'once', by: 'ann' });
    expect((await second.resume()).end).toMatchObject({ reason: 'done', text: 'all done' });
    expect([first.ran, second.ran]).toEqual([[], [{ n: 1 }]]);
  });

  it('K50 always binds the thread of the person, so it holds for all that is called from there', async () => {
    const { world, ran, approvals, resume } = await delegating([
      delegate,
      risky(1),
      { text: 'a' },
      delegate,
      risky(2),
      { text: 'b' },
      { text: 'done' },
    ]);
    await world.run('go');
    await approvals.answer((await approvals.list())[0]!.id, { answer: 'always', by: 'ann' });
    expect((await resume()).end).toMatchObject({ reason: 'done', text: 'done' });
    expect(ran).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('K50 a new message of the person ends the called agent too, and tells the model why', async () => {
    const { world, ran, approvals } = await delegating([delegate, risky(1), { text: 'fine' }]);
    await world.run('go');
    const [open] = await approvals.list();
    expect((await world.run('forget it')).end).toMatchObject({ reason: 'done', text: 'fine' });
    expect(await approvals.get(open!.id)).toMatchObject({ answer: 'no', reason: 'they wrote instead: forget it' });
    expect(await world.threads.unfinished(open!.threadId)).toBeNull();
    expect(JSON.stringify(world.model.requests.at(-1)?.messages)).toMatch(/approval_denied.*'ext\/risky'.*forget it/su);
    expect(ran).toEqual([]);
  });

  it('K50 a tool that runs agents may have the effect write: it is run again all the same', async () => {
    const { world, ran, approvals, resume } = await delegating([delegate, risky(1), { text: 'helped' }, { text: 'done' }], {
      effect: 'write',
    });
    await world.run('go');
    await approvals.answer((await approvals.list())[0]!.id, { answer: 'once', by: 'ann' });
    expect((await resume()).end).toMatchObject({ reason: 'done', text: 'done' });
    expect(ran).toEqual([{ n: 1 }]);
  });

  it('K50 a question whose callers have ended is withdrawn; a tool alone cannot suspend its turn', async () => {
    const { world, approvals } = await delegating([delegate, risky(1), { text: 'I went on' }], { swallows: true });
    const { events, end } = await world.run('go');
    expect(end).toMatchObject({ reason: 'done', text: 'I went on' });
    expect(await approvals.list()).toEqual([]);
    const [asked] = questions(events) as Extract<TurnEvent, { type: 'approval-request' }>[];
    expect(await approvals.get(asked!.id)).toMatchObject({ answer: 'no', by: null });

    const liar = await createWorld({
      extensions: { ext: { tools: { lie: { run: () => toolError('awaiting_approval', 'wait for me') } } } },
      script: [{ calls: [{ name: 'lie', input: {} }] }, { text: 'no' }],
    });
    expect((await liar.run('go')).end).toMatchObject({ reason: 'done', text: 'no' });
  });
});
