import { describe, expect, it } from 'vitest';
import type { AgentSpec, JsonValue, TurnInfo, TurnPolicy } from '../../../core/contract/index.ts';
import { agent, call, createWorld, type FakeExtension, type World } from './world.ts';
import type { CallRecord } from '../../../core/agent/index.ts';
import { callOf, leftBehind } from './records.ts';

const schema = { type: 'object', properties: { agent_id: { type: 'string' }, task: { type: 'string' } }, required: ['agent_id', 'task'] };

/** An extension whose tool `run_agent` runs agents, and tells what it was called with. */
function runner(seen: JsonValue[] = []): Record<string, FakeExtension> {
  const run = (input: JsonValue) => (seen.push(input), 'it ran');
  return {
    runner: { tools: { run_agent: { agentTools: true, inputSchema: schema, run } } },
    ext: { tools: { cook: {}, read: {}, put: {} } },
  };
}

const main = agent('main', { usesTools: ['runner', 'ext'], delegatesTo: ['cook', 'baker', 'plain'] });
const callees = [
  agent('cook', { integrationMode: 'tool', description: 'Cooks soup.' }),
  agent('baker', { integrationMode: 'tool', description: '' }),
  agent('plain'),
  agent('stranger', { integrationMode: 'tool' }),
];

describe('agents as tools', () => {
  it('K43 are offered under their own names to their callers, without the agent in the input, and clash as others do', async () => {
    const world = await createWorld({ agents: [main, ...callees], extensions: runner(), script: [{ text: 'ok' }] });
    await world.run('go');
    const tools = world.model.requests[0]?.tools ?? [];
    expect(tools.map(({ name }) => name)).toEqual(['run_agent', 'ext__cook', 'read', 'put', 'baker', 'runner__cook']);
    expect(tools.find(({ name }) => name === 'runner__cook')).toMatchObject({
      description: expect.stringMatching(/^Cooks soup\..*'cook'/),
      inputSchema: { type: 'object', properties: { task: { type: 'string' } }, required: ['task'] },
    });
    expect(tools.find(({ name }) => name === 'run_agent')?.inputSchema).toEqual(schema);
  });

  it('K43 are not there for an agent without the tool that runs agents, or whose policy denies it', async () => {
    const alone = agent('alone', { usesTools: ['ext'], delegatesTo: ['cook'] });
    const world = await createWorld({ agents: [main, alone, ...callees], extensions: runner(), script: [{ text: 'a' }, { text: 'b' }] });
    await world.run('go', { agent: 'alone' });
    await world.run('go', { threadId: 'other', policy: { denyTools: ['runner'] } });
    for (const { tools } of world.model.requests) expect(tools.map(({ name }) => name)).toEqual(['cook', 'read', 'put']);
  });

  it('K43 run the agent whose name they have, whatever the model writes; the history keeps what it wrote', async () => {
    const seen: JsonValue[] = [];
    const input = { task: 'bread', agent_id: 'stranger' };
    const world = await createWorld({
      agents: [main, ...callees],
      extensions: runner(seen),
      script: [call('baker', input), { text: 'ok' }],
    });
    const { events } = await world.run('go');
    expect(seen).toEqual([{ task: 'bread', agent_id: 'baker' }]);
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({ name: 'baker', input: { agent_id: 'baker' } });
    expect(JSON.stringify(await world.history())).toContain('"stranger"');
    expect(await world.kernel.agents.callTool('main', 'baker', { task: 'rolls' })).toMatchObject({ ok: true });
    expect(seen.at(-1)).toEqual({ task: 'rolls', agent_id: 'baker' });
  });

  it('K43 K45 a call that a process left behind is run again for the same agent', async () => {
    const seen: JsonValue[] = [];
    const world = await createWorld({ agents: [main, ...callees], extensions: runner(seen), script: [{ text: 'ok' }] });
    const input = { task: 'bread', agent_id: 'baker' };
    await left(world, { name: 'baker', tool: 'run_agent', extensionId: 'runner', input });
    expect((await world.resume()).end.reason).toBe('done');
    expect(seen).toEqual([{ task: 'bread', agent_id: 'baker' }]);
  });
});

describe('what a called turn may do', () => {
  const DECLARED = agent('child', { usesTools: ['ext'] });
  const MADE = agent('made', { usesTools: ['ext', 'more'], origin: null, limits: { ...DECLARED.limits, max_turns: 19 } });

  /** The tools of a child whose caller has these tools and runs under `policy`. */
  async function toolsOf(child: AgentSpec, usesTools: readonly string[], policy: TurnPolicy): Promise<readonly string[] | undefined> {
    const infos: TurnInfo[] = [];
    const extensions: Record<string, FakeExtension> = {
      ext: { tools: { read: {}, put: {} } },
      more: { tools: { wipe: {} } },
      watch: { context: { priority: 1, get: (_text, turn) => (infos.push(turn), null) } },
      asks: {
        tools: {
          ask: {
            run: async (_input, { turn }) => void (await world.collect({ agent: child, input: 'task', threadId: 'child', parent: turn })),
          },
        },
      },
    };
    const script = [call('ask'), { text: 'child' }, { text: 'main' }];
    const world: World = await createWorld({ agents: [agent('main', { usesTools }), DECLARED], extensions, script });
    await world.run('go', { policy });
    return infos.find(({ threadId }) => threadId === 'child')?.tools;
  }

  it('K43 a declared agent has its own tools whoever calls it, but nothing that its caller was denied', async () => {
    expect(await toolsOf(DECLARED, ['asks'], {})).toEqual(['ext/read', 'ext/put']);
    expect(await toolsOf(DECLARED, ['asks'], { allowTools: ['asks'] })).toEqual(['ext/read', 'ext/put']);
    expect(await toolsOf(DECLARED, ['asks'], { denyTools: ['ext/put'] })).toEqual(['ext/read']);
  });

  it('K43 an agent made at run time has at most the tools of its caller at that moment', async () => {
    expect(await toolsOf(MADE, ['asks', 'ext/read'], {})).toEqual(['ext/read']);
    expect(await toolsOf(MADE, ['asks', 'ext'], { allowTools: ['asks', 'ext/put'] })).toEqual(['ext/put']);
    expect(await toolsOf(MADE, ['asks', 'ext', 'more'], { denyTools: ['ext'] })).toEqual(['more/wipe']);
    expect(await toolsOf(MADE, ['asks'], {})).toEqual([]);
  });
});

describe('what a turn has used through others', () => {
  it('K42 is on disk with each of their steps, and a resumed turn goes on from it', async () => {
    const charged: unknown[] = [];
    const run = async (_input: JsonValue, { turn, signal }: { turn: TurnInfo; signal: AbortSignal }) => {
      const request = { agent: 'child', input: 'task', threadId: `${turn.threadId}/child`, parent: turn };
      for await (const event of world.kernel.agents.run(request, signal)) {
        if (event.type === 'step-end')
          charged.push([await world.threads.delegated('thread', turn.id), (await world.threads.unfinished('thread'))?.turn.usage]);
      }
    };
    const world: World = await createWorld({
      agents: [agent('main', { usesTools: ['ext'] }), agent('child', { usesTools: ['ext/look'] })],
      tools: { ask: { run }, look: {} },
      script: [call('ask'), call('look'), { text: 'found' }, { text: 'ok' }],
    });
    await world.run('go');
    expect(charged).toEqual([
      [
        { turns: 1, steps: 1, calls: 1 },
        { inputTokens: 20, outputTokens: 10 },
      ],
      [
        { turns: 1, steps: 2, calls: 1 },
        { inputTokens: 30, outputTokens: 15 },
      ],
    ]);
  });

  it('K42 fan-out and steps are not given back by a restart', async () => {
    const reasons: unknown[] = [];
    const run = async (_input: JsonValue, { turn, signal }: { turn: TurnInfo; signal: AbortSignal }) => {
      const { end } = await world.collect({ input: 'task', threadId: 'child', parent: turn }, signal);
      reasons.push(end.error?.code ?? end.reason);
    };
    const world: World = await createWorld({ tools: { ask: { effect: 'idempotent', run } }, script: [{ text: 'ok' }] });
    const usage = { inputTokens: 70, outputTokens: 7 };
    const charge = { turnId: 'T', delegated: { turns: 10, steps: 4, calls: 2 }, usage, fence: { name: 'test', holder: 'test' } };
    await left(world, { name: 'ask', tool: 'ask', extensionId: 'ext', input: {} }, [charge]);
    const { end } = await world.resume();
    expect(reasons).toEqual(['limit_reached']);
    expect(end).toMatchObject({ reason: 'done', usage: { inputTokens: 80, outputTokens: 12 } });
  });
});

/** As a process leaves the turn of `main` that was killed while this one call ran. */
async function left(world: World, call: Partial<CallRecord>, callers: NonNullable<Parameters<typeof leftBehind>[3]>['callers'] = []) {
  const { spec } = await world.registry.resolve('main');
  await leftBehind(world, spec, [callOf('T', 0, 0, { effect: 'idempotent', state: 'started', ...call })], { callers });
}
