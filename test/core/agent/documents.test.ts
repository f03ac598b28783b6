import { describe, expect, it } from 'vitest';
import type { ContextParts } from '../../../core/contract/index.ts';
import { agent, createWorld, type WorldOptions } from './world.ts';

const words = (count: number, word = 'word') => `${word} `.repeat(count).trim();
const document = (key: string, text: string): NonNullable<ContextParts['documents']>[number] => ({ key, digest: `sha-${key}`, text });

function giving(get: (prompt: string) => ContextParts | null, more: Partial<WorldOptions>) {
  return createWorld({ extensions: { docs: { context: { priority: 60, get } } }, ...more });
}

const textsOf = (content: unknown) => (content as readonly { readonly text: string }[]).map(({ text }) => text);

describe('documents beside a message', () => {
  it('stand before its turn parts, whole, and are stored with it', async () => {
    const long = words(3000);
    const world = await giving(
      (prompt) => (prompt === 'one' ? { turn: 'TURN', documents: [document('a', long), document('b', 'B')] } : null),
      { script: [{ text: 'x' }, { text: 'y' }] },
    );
    await world.run('one');
    await world.run('two');
    expect(world.model.requests.map(({ messages }) => textsOf(messages[0]?.content))).toEqual([
      [long, 'B', 'TURN', 'one'],
      [long, 'B', 'TURN', 'one'],
    ]);
    expect(world.model.requests[0]?.system).toBe('');
    expect((await world.threads.load('thread'))?.messages[0]?.message.content[0]).toMatchObject({
      providerOptions: { pith: { document: { key: 'a', digest: 'sha-a' } } },
    });
  });

  it('fill at most a quarter of the window: what does not fit is left out with a notice, the rest stays', async () => {
    const documents = [document('small', words(100)), document('big', words(5000)), document('last', words(100))];
    const world = await giving(() => ({ documents }), { contextWindow: 8000, script: [{ text: 'x' }] });
    const { events, notices } = await world.run('hi');
    expect(textsOf(world.model.requests[0]?.messages[0]?.content)).toEqual([
      words(100),
      words(100),
      '[big: left out, it has no room in this message]',
      'hi',
    ]);
    expect(world.recorded.of('turn.started')[0]?.documents).toEqual(['small', 'last'].map((key) => ({ key, digest: `sha-${key}` })));
    expect(notices).toEqual(['document_left_out']);
    expect(events.find(({ type }) => type === 'notice')).toMatchObject({
      message: expect.stringMatching(/'big' of 'docs'.* 2000, a quarter/),
    });
  });

  it('fill 50,000 tokens where the window is not known', async () => {
    const documents = [
      { ...document('fits', words(45_000)), label: 'Fits.' },
      { ...document('over', words(9000)), fallback: 'Ask for it.', label: 'Over.' },
    ];
    const world = await giving(() => ({ documents }), { script: [{ text: 'x' }] });
    const { events } = await world.run('hi');
    expect(textsOf(world.model.requests[0]?.messages[0]?.content)).toEqual([words(45_000), 'Ask for it.', 'hi']);
    expect(events.filter(({ type }) => type === 'document')).toEqual([
      { type: 'document', extension: 'docs', key: 'fits', label: 'Fits.' },
    ]); // N17
  });

  it('are no words of the person: in the texts that providers are told, also after a compaction', async () => {
    const seen: (readonly string[])[] = [];
    const world = await createWorld({
      contextWindow: 4000,
      extensions: {
        docs: {
          context: {
            priority: 60,
            get: (prompt, turn) => (
              seen.push(turn.userTexts),
              prompt === 'one' ? { documents: [document('skill-x', `SECRET ${words(900)}`)] } : null
            ),
          },
        },
      },
      script: [{ text: words(900, 'answer') }, { text: words(900, 'answer') }, { text: 'SHORT' }, { text: 'z' }],
    });
    await world.run('one');
    await world.run('two');
    await world.run(`three ${words(600)}`);
    expect(seen[1]).toEqual(['one', 'two']);
    expect((await world.threads.load('thread'))?.thread.compactions).toBe(1);
  });

  it('are counted by name in a preview', async () => {
    const world = await giving(() => ({ documents: [document('a', words(500))] }), { agents: [agent('main')] });
    const { tokens, messages } = await world.kernel.agents.preview({ agent: 'main', input: 'hi' });
    expect(tokens.parts.find(({ name }) => name === 'docs a (this message)')?.tokens).toBeGreaterThan(400);
    expect(textsOf(messages[0]?.content)).toEqual([words(500), 'hi']);
  });
});
