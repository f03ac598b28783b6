import { describe, expect, it } from 'vitest';
import type { TurnInfo } from '../../../core/contract/index.ts';
import { agent, createWorld } from './world.ts';

describe('context of a turn', () => {
  it('DESIGN 3.4 system parts follow the instructions by priority, then id, whatever finishes first', async () => {
    const later = (text: string) => () => new Promise<string>((resolve) => setImmediate(() => resolve(text)));
    const world = await createWorld({
      agents: [agent('main', { instructions: 'ROLE' })],
      extensions: {
        z: { context: { priority: 60, get: () => 'Z' } },
        b: { context: { priority: 60, get: () => 'B' } },
        a: { context: { priority: 0, get: later('A') } },
      },
      script: [{ text: 'ok' }],
    });
    await world.run('hi');
    expect(world.model.requests[0]?.system).toBe('ROLE\n\nA\n\nB\n\nZ');
  });

  it('DESIGN 3.4 turn parts stand before the text of the same message, are stored with it and never rewritten', async () => {
    const world = await createWorld({
      extensions: {
        both: { context: { priority: 60, get: (prompt) => ({ system: 'STABLE', turn: `for ${prompt}` }) } },
        late: { context: { priority: 100, placement: 'turn', get: () => 'M' } },
      },
      script: [{ text: 'a' }, { text: 'b' }],
    });
    await world.run('one');
    await world.run('two');
    const texts = (text: string[]) => text.map((each) => ({ type: 'text', text: each }));
    expect(world.model.requests[1]?.system).toBe('STABLE');
    expect(world.model.requests[1]?.messages).toEqual([
      { role: 'user', content: texts(['for one', 'M', 'one']) },
      expect.objectContaining({ role: 'assistant', content: texts(['a']) }),
      { role: 'user', content: texts(['for two', 'M', 'two']) },
    ]);
  });

  it('DESIGN 3.4 a turn part is cut at 400 tokens, and says so', async () => {
    const world = await createWorld({
      extensions: { long: { context: { priority: 1, placement: 'turn', get: () => 'word '.repeat(2000) } } },
      script: [{ text: 'ok' }],
    });
    await world.run('hi');
    const content = world.model.requests[0]?.messages[0]?.content;
    const text = Array.isArray(content) && content[0]?.type === 'text' ? content[0].text : '';
    expect(text).toContain('cut at 400 tokens');
    expect(text.length).toBeLessThan(400 * 7);
  });

  it("R13 providers see the user's last five texts, without what stood beside them", async () => {
    const seen: (readonly string[])[] = [];
    const world = await createWorld({
      extensions: {
        c: { context: { priority: 1, placement: 'turn', get: (_prompt: string, turn: TurnInfo) => (seen.push(turn.userTexts), 'BESIDE') } },
      },
      script: Array.from({ length: 6 }, () => ({ text: 'ok' })),
    });
    for (const text of ['1', '2', '3', '4', '5', '6']) await world.run(text);
    expect(seen.at(-1)).toEqual(['2', '3', '4', '5', '6']);
  });

  it('DESIGN 3.4 a preview is exactly what the first step sends, and writes nothing', async () => {
    const world = await createWorld({
      agents: [agent('main', { prompt: 'Role of {{ agent.id }} on {{ channel }}.', usesTools: ['ext'], usesSkills: ['s'] })],
      skills: { s: 'BODY' },
      extensions: { ext: { tools: { t: {} }, context: { priority: 1, get: () => ({ system: 'SYS', turn: 'TURN' }) } } },
      script: [{ text: 'a' }, { text: 'b' }],
    });
    for (const input of ['first', 'second']) {
      const shown = await world.kernel.agents.preview({ agent: 'main', input, threadId: 'thread', channelId: 'cli' });
      const before = await world.history();
      await world.run(input, { channelId: 'cli' });
      const sent = world.model.requests.at(-1);
      expect(shown.system).toBe(sent?.system);
      expect(shown.messages).toEqual(sent?.messages);
      expect(shown.tools).toEqual(sent?.tools);
      expect(before).toHaveLength(input === 'first' ? 0 : 2);
      expect(shown.tokens.total).toBe(shown.tokens.parts.reduce((total, { tokens }) => total + tokens, 0));
    }
    const { tokens } = await world.kernel.agents.preview({ agent: 'main', input: 'x', threadId: 'thread' });
    expect(tokens.parts.map(({ name }) => name)).toEqual(['skill s', 'prompt', 'ext', 'history', 'ext (this message)', 'message', 'tools']);
  });
});
