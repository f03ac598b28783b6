import type { Message, ToolResult } from 'pith';
import { describe, expect, it } from 'vitest';
import { recipeFor } from '../../../sandbox/extensions/compaction/recipe.ts';
import type { Recipe, Request } from '../../../sandbox/extensions/compaction/results.ts';

type Retained = Record<string, NonNullable<Extract<ToolResult, { ok: true }>['retain']>>;

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const says = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] });
const calls = (id: string, tool = 't'): Message => ({
  role: 'assistant',
  content: [{ type: 'tool-call', toolCallId: id, toolName: tool, input: {} }],
});
const answers = (id: string, value: string, tool = 't'): Message => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: id, toolName: tool, output: { type: 'text', value } }],
});
const words = (count: number) => 'word '.repeat(count);

function ask(messages: readonly Message[], retain: Record<number, Retained> = {}, more: Partial<Request> = {}): Recipe | null {
  const sized = messages.map((message, index) => ({
    message,
    retain: retain[index] ?? {},
    tokens: Math.ceil(JSON.stringify(message.content).length / 5),
    isSummary: index === 0 && message.providerOptions !== undefined,
  }));
  return recipeFor({ messages: sized, contextWindow: 2000, fixedTokens: 0, force: false, ...more });
}

const retainOf = (recipe: Recipe | null) => recipe?.messages.flatMap(({ retain }) => Object.values(retain));

describe('the recipe of a compaction', () => {
  it('K46 cuts long tool results to head and tail first, and leaves the rest alone when that is enough', () => {
    const long = `BEGIN${'x'.repeat(20_000)}END`;
    const messages = [user('a'), calls('1'), answers('1', long), says('b'), calls('2'), answers('2', 'short'), user('c')];
    const recipe = ask(messages, {}, { contextWindow: 8000 });
    expect(recipe).toMatchObject({ replaced: 3, summary: null });
    const cut = JSON.stringify(recipe?.messages[2]?.message);
    expect(cut).toMatch(/BEGIN.*characters cut.*END/);
    expect(cut.length).toBeLessThan(4000);
    expect(ask([user('a'), says('b')])).toBeNull();
  });

  it('K46 has the oldest part summarised and keeps the newest word for word', () => {
    const whole = { type: 'text' as const, text: 'SECRET', providerOptions: { pith: { document: { key: 'guide', digest: 'd' } } } };
    const first: Message = { role: 'user', content: [whole, { type: 'text', text: `first ${words(600)}` }] };
    const recipe = ask([first, says(words(600)), user(words(300)), says('NEWEST')]);
    const asked = JSON.stringify(recipe?.summary?.ask.prompt);
    expect(asked).toContain('User: first');
    expect(asked).toContain("given the whole text of 'guide'");
    expect(asked).not.toContain('SECRET');
    expect(recipe?.summary?.otherwise).toContain('User: first');
    expect(JSON.stringify(recipe?.messages)).not.toContain('first');
    expect(recipe?.replaced).toBeLessThan(4);
  });

  it('K46 a call and its result stay together, wherever the budget ends', () => {
    for (const size of [10, 100, 200, 300, 400, 500, 600, 900]) {
      const pairs = ['1', '2', '3'].flatMap((id) => [calls(id), answers(id, words(size))]);
      const messages = [user('go'), says(words(1500)), ...pairs];
      const recipe = ask(messages);
      const rest = [...(recipe?.messages.map(({ message }) => message) ?? []), ...messages.slice(recipe?.replaced)];
      // Each call is followed by its answer, and no answer stands alone.
      const ids = rest.flatMap((message) => {
        if (message.role === 'assistant')
          return message.content.flatMap((part) => (part.type === 'tool-call' ? [`call ${part.toolCallId}`] : []));
        return message.role === 'tool'
          ? message.content.flatMap((part) => (part.type === 'tool-result' ? [`answer ${part.toolCallId}`] : []))
          : [];
      });
      const paired = ids.filter((id) => id.startsWith('call')).flatMap((id) => [id, id.replace('call', 'answer')]);
      expect(ids).toEqual(paired);
      expect(ids).toContain('answer 3');
      expect(rest.some((message) => message.role === 'user' && JSON.stringify(message).includes('"go"'))).toBe(true);
    }
  });

  it('S46 results that asked to be kept are kept when small, else listed with their digest and tool, also through a second compaction', () => {
    const [review, tiny] = [
      { key: 'code-review', digest: 'abc123' },
      { key: 'tiny', digest: 'def456' },
    ];
    const messages = [
      user('go'),
      calls('1', 'read_skill'),
      answers('1', words(400), 'read_skill'),
      calls('2', 'read_skill'),
      answers('2', 'TINY BODY', 'read_skill'),
      says(words(1500)),
      user('next'),
    ];
    const first = ask(messages, { 2: { 1: review }, 4: { 2: tiny } });
    const text = JSON.stringify(first?.messages[0]);
    expect(text).toContain('- code-review abc123: read it again with read_skill');
    expect(text).toContain('TINY BODY');
    expect(retainOf(first)).toEqual([tiny]);
    const { message, retain } = first!.messages[0]!;
    const again = ask([message, says(words(2000)), user('more')], { 0: retain });
    expect(JSON.stringify(again?.messages[0])).toContain('- code-review abc123: read it again with read_skill');
    expect(JSON.stringify(again?.messages[0])).toContain('- tiny def456: read it again with read_skill');
    expect(retainOf(again)).toEqual([]);
  });

  it('K46 S46 a result that is cut is kept no longer, and is listed once it is summarised', () => {
    const retain = { key: 'guide', digest: 'd1' };
    const other = { key: 'other', digest: 'd2' };
    const messages = [
      user('go'),
      calls('1', 'read_skill'),
      answers('1', words(60_000), 'read_skill'),
      calls('2', 'read_skill'),
      answers('2', words(500), 'read_skill'),
      user('next'),
    ];
    const cut = ask(messages, { 2: { 1: retain }, 4: { 2: other } }, { contextWindow: 100_000 });
    expect(cut).toMatchObject({ replaced: 3, summary: null });
    expect(retainOf(cut)).toEqual([]);
    const after = [...cut!.messages.map(({ message }) => message), ...messages.slice(3), says(words(9000)), user('more')];
    expect(JSON.stringify(ask(after)?.messages[0])).toContain('- guide d1: read it again with read_skill');
  });
});
