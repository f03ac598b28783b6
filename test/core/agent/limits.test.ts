import { describe, expect, it } from 'vitest';
import type { AgentSpec } from '../../../core/contract/index.ts';
import type { ScriptedStep } from 'pith/testing';
import { agent, calls, createWorld } from './world.ts';

const call: ScriptedStep = { text: 'Step.', calls: [{ name: 't', input: {} }] };

function limited(limits: Partial<AgentSpec['limits']>, script: readonly ScriptedStep[], run: () => unknown = () => 'ok') {
  return createWorld({
    agents: [agent('main', { usesTools: ['ext'], limits: limits as AgentSpec['limits'] })],
    tools: { t: { run } },
    script,
  });
}

describe('limits', () => {
  it('K42 max_turns ends the turn with the reason and what was done so far', async () => {
    const world = await limited({ max_turns: 2 }, [call, call, { text: 'on' }]);
    const { end } = await world.run('go');
    expect(end).toMatchObject({ reason: 'limit', text: 'Step.', error: { code: 'limit_reached' } });
    expect(end.error?.message).toBe(
      "stopped at max_turns (2); so far: 2 model steps, 2 tool calls (ext/t × 2), 30 tokens; send another message to go on, or raise limits.max_turns of 'main'",
    );
    expect((await world.history()).at(-1)?.role).toBe('tool');
    expect((await world.run('go on')).text).toBe('on');
  });

  it('K42 max_tool_calls refuses the call beyond it, tells the model so in the history, and ends the turn', async () => {
    const world = await limited({ max_tool_calls: 1 }, [{ calls: calls('t', 't') }]);
    const { end, events } = await world.run('go');
    expect(end).toMatchObject({ reason: 'limit', error: { message: expect.stringContaining('max_tool_calls (1)') } });
    const codes = new Map(events.flatMap((event) => (event.type === 'tool-result' ? [[event.id, event.error?.code ?? 'ran']] : [])));
    expect([codes.get('call-1-0'), codes.get('call-1-1')]).toEqual(['ran', 'limit_reached']);
    expect(world.calls).toHaveLength(1);
  });

  it('K42 max_tool_calls counts calls of tools that there are not, and says how many were made', async () => {
    const world = await limited({ max_tool_calls: 2 }, [{ calls: calls('no', 't', 'no', 'no', 't') }]);
    const { end, events } = await world.run('go');
    expect(end.error?.message).toContain('stopped at max_tool_calls (2); so far: 1 model step, 2 tool calls (ext/t), ');
    const codes = events.flatMap((event) => (event.type === 'tool-result' ? [event.error?.code ?? 'ran'] : []));
    expect(codes.toSorted()).toEqual(['limit_reached', 'limit_reached', 'limit_reached', 'ran', 'tool_unknown']);
  });

  describe('K42 what one answer asks for is counted while it comes, and one that asks for too much ends the turn', () => {
    const id = '1';
    const name = { toolName: 'no' };
    it.each([
      ['calls', 256, (at: number) => ({ type: 'tool-call', toolCallId: `${at}`, ...name, input: '{}' })],
      ['calls whose inputs come first', 256, (at: number) => ({ type: 'tool-input-start', id: `${at}`, ...name })],
      ['parts of an input', 64, () => ({ type: 'tool-input-delta', id, delta: ' '.repeat(65_536) })],
      ['whole inputs', 2, (at: number) => ({ type: 'tool-call', toolCallId: `${at}`, ...name, input: ' '.repeat(2 * 1024 * 1024) })],
    ])('%s', async (_what, most, part) => {
      const world = await limited({ max_tokens: 10_000_000 }, []);
      let sent = 0;
      world.model.model.doStream = async () => ({
        stream: (async function* () {
          for (; sent < 10_000; sent += 1) yield part(sent) as never;
        })(),
      });
      const { end } = await world.run('go');
      expect(end).toMatchObject({ reason: 'error', error: { code: 'model_failed', message: expect.stringContaining('in one answer') } });
      expect(sent).toBe(most);
      expect((await world.history()).map(({ role }) => role)).toEqual(['user']);
    });
  });

  it('K42 max_tokens counts what the provider reports', async () => {
    const world = await limited({ max_tokens: 100 }, [{ ...call, usage: { inputTokens: 90, outputTokens: 20 } } as ScriptedStep]);
    const { end } = await world.run('go');
    expect(end).toMatchObject({ reason: 'limit', usage: { inputTokens: 90, outputTokens: 20 } });
  });

  it('K42 max_tokens counts an estimate where the provider reports nothing', async () => {
    const world = await limited({ max_tokens: 50 }, [call, { text: 'never' }]);
    const silent = world.model.model.doStream.bind(world.model.model);
    world.model.model.doStream = async (options) => {
      const { stream } = await silent(options);
      return {
        stream: (async function* () {
          for await (const part of stream)
            yield part.type === 'finish'
              ? { ...part, usage: { inputTokens: { total: undefined }, outputTokens: { total: undefined } } as never }
              : part;
        })(),
      };
    };
    const { end } = await world.run('word '.repeat(100));
    expect(end.reason).toBe('limit');
    expect(end.usage.inputTokens).toBeGreaterThan(80);
    expect(end.usage.outputTokens).toBeGreaterThan(0);
  });

  it('U47 max_tokens cuts an answer without end, and keeps what came', async () => {
    const world = await limited({ max_tokens: 100 }, []);
    let said = 0;
    world.model.model.doStream = async () => ({
      stream: (async function* () {
        for (; said < 100_000; said += 1) yield { type: 'text-delta', id: '1', delta: 'word ' };
      })(),
    });
    const { end } = await world.run('go');
    expect(end).toMatchObject({ reason: 'limit', error: { message: expect.stringContaining('max_tokens (100)') } });
    expect(end.text).toMatch(/^(?:word ){100,200}$/u);
    expect(end.usage.outputTokens).toBeGreaterThan(100);
    expect(said).toBeLessThan(200);
    expect((await world.history()).at(-1)).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: end.text }] });
    expect(await world.threads.unfinished('thread')).toBeNull();
  });

  it('K42 time_budget_ms ends a model that does not stop, and keeps what it said', async () => {
    const world = await limited({ time_budget_ms: 5000 }, [{ text: 'Thinking', hang: true }]);
    let end: unknown;
    for await (const event of world.turn('go')) {
      if (event.type === 'text-delta') await world.clock.advance(5001);
      end = event;
    }
    expect(end).toMatchObject({ reason: 'limit', text: 'Thinking', error: { message: expect.stringContaining('time_budget_ms (5000)') } });
    expect((await world.history()).at(-1)).toMatchObject({ role: 'assistant' });
    expect(await world.threads.unfinished('thread')).toBeNull();
  });

  it('K42 a policy narrows the limits of an agent', async () => {
    const world = await limited({}, [call]);
    expect((await world.run('go', { policy: { limits: { max_turns: 1 } } })).end.reason).toBe('limit');
  });
});
