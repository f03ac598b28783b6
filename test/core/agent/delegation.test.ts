import { describe, expect, it } from 'vitest';
import type { AgentSpec, JsonValue, ToolCall, TurnInfo, TurnRequest } from '../../../core/contract/index.ts';
import type { ScriptedStep } from 'pith/testing';
import { until } from '../../waiting.ts';
import { agent, calls, call, createWorld, type End, type World } from './world.ts';

const ask = (...children: readonly JsonValue[]): ScriptedStep => ({
  text: 'Asking.',
  calls: children.map((input) => ({ name: 'ask', input })),
});
const look: ScriptedStep = call('look');

/** `main` and `child` have a tool `ask`, which runs the agent that its input names as the called one of its turn. */
async function delegating(
  limits: { readonly main?: Partial<AgentSpec['limits']>; readonly child?: Partial<AgentSpec['limits']> },
  script: readonly ScriptedStep[],
) {
  const ends: End[] = [];
  const infos: TurnInfo[] = [];
  let count = 0;
  const run = async (input: JsonValue, { turn, signal }: ToolCall) => {
    const request = { agent: 'child', threadId: `child-${(count += 1)}`, input: 'task', parent: turn, ...(input as object) } as TurnRequest;
    const { end } = await world.collect(request, signal);
    ends.push(end);
    return `${end.reason}: ${end.text}`;
  };
  const agents = (['main', 'child'] as const).map((id) => agent(id, { usesTools: ['ext'], limits: limits[id] as AgentSpec['limits'] }));
  const tools = { ask: { run }, look: { run: (_: JsonValue, { turn }: ToolCall) => void infos.push(turn) } };
  const world: World = await createWorld({ agents, tools, script });
  return { world, ends, infos };
}

describe('a turn that another turn calls', () => {
  it('K42 counts its tokens, steps and calls against its caller, which says so when that ends it', async () => {
    const { world, ends } = await delegating({ main: { max_tokens: 50 } }, [ask({}), look, { text: 'found' }]);
    const { end } = await world.run('go');
    expect(ends).toMatchObject([{ reason: 'done', text: 'found', usage: { inputTokens: 20, outputTokens: 10 } }]);
    expect(end.usage).toEqual({ inputTokens: 30, outputTokens: 15 });
    const next = await delegating({ main: { max_tokens: 45 } }, [ask({}), look, { text: 'found' }]);
    const over = (await next.world.run('go')).end;
    expect(over).toMatchObject({ reason: 'limit', error: { code: 'limit_reached' } });
    expect(over.error?.message).toBe(
      "stopped at max_tokens (45); so far: 1 model step, 1 tool call (ext/ask), 1 delegated turn (2 model steps, 1 tool call), 45 tokens; send another message to go on, or raise limits.max_tokens of 'main'",
    );
  });

  it('K42 goes no further than what its caller has left, whatever its own limits', async () => {
    const tokens = await delegating({ main: { max_tokens: 25 } }, [ask({}), look]);
    expect((await tokens.world.run('go')).end.reason).toBe('limit');
    expect(tokens.ends).toMatchObject([
      { reason: 'limit', error: { message: expect.stringContaining("max_tokens (25) of 'main', which called") } },
    ]);

    const steps = await delegating({ main: { max_turns: 2 } }, [ask({}), look]);
    expect((await steps.world.run('go')).end.error?.message).toContain('max_turns (2)');
    expect(steps.ends).toMatchObject([
      { reason: 'limit', error: { message: expect.stringContaining("raise limits.max_turns of 'main'") } },
    ]);

    const calls = await delegating({ main: { max_tool_calls: 2 } }, [ask({}), look, look, ask({})]);
    expect((await calls.world.run('go')).end.error?.message).toContain('max_tool_calls (2)');
    expect(calls.ends).toMatchObject([{ reason: 'limit', error: { message: expect.stringContaining('max_tool_calls (2)') } }]);
    expect(calls.infos).toHaveLength(1);
  });

  it('U47 side by side takes no more steps than its caller has left', async () => {
    const { world, ends } = await delegating({ main: { max_turns: 3 } }, [ask({}, {}, {}, {}, {}), { text: 'ok' }, { text: 'ok' }]);
    expect((await world.run('go')).end).toMatchObject({ reason: 'limit', error: { message: expect.stringContaining('max_turns (3)') } });
    expect(world.model.requests).toHaveLength(3);
    expect(ends.map(({ reason }) => reason).sort()).toEqual(['done', 'done', 'limit', 'limit', 'limit']);
  });

  it('M87 knows the message that its caller answers, and another one where its request names it', async () => {
    const { world, infos } = await delegating({}, [
      ask({}),
      look,
      { text: 'one' },
      ask({ messageId: 'm2' }),
      look,
      { text: 'two' },
      { text: 'end' },
    ]);
    await world.run('go', { messageId: 'm1' });
    expect(infos.map(({ messageId }) => messageId)).toEqual(['m1', 'm2']);
  });

  it("K42 ends with its caller's time", async () => {
    const { world, ends } = await delegating({ main: { time_budget_ms: 5000 } }, [ask({ input: 'slow' }), { text: 'Half', hang: true }]);
    const turn = world.run('go');
    while (world.model.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await world.clock.advance(5001);
    expect((await turn).end).toMatchObject({ reason: 'limit', error: { message: expect.stringContaining('time_budget_ms (5000)') } });
    await until(() => ends.length === 1);
    expect(await world.threads.unfinished('child-1')).toBeNull();
  });

  it('K42 one turn calls ten agents, not eleven', async () => {
    const children = Array.from({ length: 11 }, () => ({ text: 'ok' }));
    const { world, ends } = await delegating({}, [ask(...children.map(() => ({}))), ...children]);
    expect((await world.run('go')).end.reason).toBe('done');
    expect(ends.filter(({ reason }) => reason === 'done')).toHaveLength(10);
    expect(ends.filter(({ error }) => error?.code === 'limit_reached')).toMatchObject([
      { error: { message: expect.stringContaining('10 agents') } },
    ]);
  });

  it('K42 a thread that a caller holds is refused at once, since waiting for it would never end', async () => {
    const { world, ends } = await delegating({}, [ask({ threadId: 'thread' }), { text: 'ok' }]);
    expect((await world.run('go')).end.reason).toBe('done');
    expect(ends).toMatchObject([{ reason: 'error', error: { code: 'thread_busy' } }]);
  });

  it('K42 knows its depth, and belongs to the message, channel and person of its caller', async () => {
    const { world, infos } = await delegating({}, [{ calls: calls('look', 'ask') }, look, { text: 'a' }, { text: 'b' }]);
    await world.run('go', { channelId: 'web', userId: 'ada' });
    const [parent, child] = infos;
    expect([parent?.depth, child?.depth]).toEqual([0, 1]);
    expect(child).toMatchObject({ channelId: 'web', userId: 'ada', correlationId: parent?.correlationId });
    expect(child?.id).not.toBe(parent?.id);
  });
});
