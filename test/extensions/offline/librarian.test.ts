import { describe, expect, it } from 'vitest';
import type { JsonValue, Message, ModelCallOptions } from 'pith';
import Offline from '../../../sandbox/extensions/offline/main.ts';
import { partsOf, textOf, userText } from '../model-parts.ts';

type Outputs = Readonly<Record<string, (input: Readonly<Record<string, unknown>>) => JsonValue | { readonly error: string }>>;

const offline = new Offline({ config: { reader: 'person' } });
const { model } = offline.getModel('librarian');

const SKILLS = [
  { id: 'code-review', description: 'Review code for correctness, security and best practices.' },
  { id: 'extension-development', description: 'How to create and modify extensions for Pith.' },
  { id: 'task-decomposition', description: 'Split a large goal into tasks.' },
];

const BODY = `# Code review

Read the whole change before you comment.

## Best practices for extensions

- Check that main.ts only wires.
- Check that every failure is a value.

## Security

- Look for secrets in logs.
`;

const shelf: Outputs = {
  list_skills: () => ({ skills: SKILLS }),
  read_skill: ({ skill_id }) =>
    skill_id === 'code-review'
      ? `<skill id="code-review" directory="sandbox/skills/code-review">\n${BODY}</skill>`
      : { error: 'skill_not_found' },
};

const toolsOf = (names: readonly string[]): ModelCallOptions['tools'] =>
  names.map((name) => ({ type: 'function', name, inputSchema: { type: 'object' } }));

/** Runs the steps of one turn as a loop does, and keeps what happened in `history`. */
async function ask(question: string, outputs: Outputs = shelf, history: Message[] = [{ role: 'system', content: 'Prompt.' }]) {
  history.push(userText(question));
  const calls: { name: string; input: Record<string, unknown> }[] = [];
  for (let step = 0; step < 6; step += 1) {
    const parts = await partsOf(model, { prompt: history, tools: toolsOf(Object.keys(outputs)) });
    const call = parts.find((part) => part.type === 'tool-call');
    if (call === undefined) {
      const text = textOf(parts);
      history.push({ role: 'assistant', content: [{ type: 'text', text }] });
      return { text, calls, parts, history };
    }
    const input = JSON.parse(call.input) as Record<string, unknown>;
    calls.push({ name: call.toolName, input });
    const output = outputs[call.toolName]?.(input) ?? null;
    const failed = typeof output === 'object' && output !== null && 'error' in output;
    history.push({ role: 'assistant', content: [{ type: 'tool-call', toolCallId: call.toolCallId, toolName: call.toolName, input }] });
    history.push({
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: call.toolCallId,
          toolName: call.toolName,
          output: failed
            ? { type: 'error-json', value: output as never }
            : typeof output === 'string'
              ? { type: 'text', value: output }
              : { type: 'json', value: output as never },
        },
      ],
    });
  }
  throw new Error('the librarian did not come to an answer');
}

describe('offline/librarian', () => {
  it('answers a follow-up in the same thread from the text that it has read before', async () => {
    const { history } = await ask('review my extension for best practices');
    const pointer: Outputs = { ...shelf, read_skill: () => 'Skill code-review is already loaded above, sha256 abc.' };
    expect((await ask('code review: what about security?', pointer, history)).text).toContain('- Look for secrets in logs.');
    const unrelated: Outputs = { ...pointer, list_skills: () => ({ skills: [] }) };
    expect((await ask('and secrets?', unrelated, history)).text).toContain('code-review › Security');
  });

  it.each(['Hi!', 'hello there', 'What can you do?', 'list skills', 'Which skills are there?'])(
    'lists the skills for %j',
    async (question) => {
      const { text, calls } = await ask(question);
      expect(calls).toEqual([{ name: 'list_skills', input: {} }]);
      expect(text).toContain('- `code-review`: Review code');
      expect(text).toContain('- `extension-development`');
    },
  );

  it('N5 says why there is nothing to answer from instead of guessing', async () => {
    const { text, calls } = await ask('review my code', { kv_get: () => null });
    expect(calls).toEqual([]);
    expect(text).toContain('meets none now');
    expect(text).toContain('--no-skills');
    expect(text).toContain('uses_tools');
  });

  it('calls tools by the names that a clash has given them', async () => {
    const renamed: Outputs = { other__list_skills: shelf['list_skills']!, other__read_skill: shelf['read_skill']! };
    const { calls, text } = await ask('review my code', renamed);
    expect(calls.map((call) => call.name)).toEqual(['other__list_skills', 'other__read_skill']);
    expect(text).toContain('code-review ›');
  });

  it('reports a tool that fails and does not try it for ever', async () => {
    const broken: Outputs = { ...shelf, list_skills: () => ({ error: 'skills_disabled' }) };
    expect((await ask('review my code', broken)).text).toContain('`list_skills` failed ({"error":"skills_disabled"})');
    const gone: Outputs = { ...shelf, list_skills: () => ({ skills: [{ id: 'ghost', description: 'Review code.' }] }) };
    expect((await ask('review my code', gone)).text).toContain('`read_skill` failed');
  });

  it('works with lists given as text, with ids in backticks', async () => {
    const lines: Outputs = { ...shelf, list_skills: () => SKILLS.map((skill) => `• \`${skill.id}\` — ${skill.description}`).join('\n') };
    expect((await ask('split my goal into tasks', lines)).calls[1]).toEqual({
      name: 'read_skill',
      input: { skill_id: 'task-decomposition' },
    });
  });

  it('streams small deltas, gives the same bytes again and makes ids that differ between calls of a thread', async () => {
    const first = await ask('review my extension for best practices');
    const again = await ask('review my extension for best practices');
    expect(again.text).toBe(first.text);
    expect(first.parts.filter((part) => part.type === 'text-delta').length).toBeGreaterThan(20);
    expect(first.parts.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified: 'stop' } });
    await ask('review my extension for best practices', shelf, first.history);
    const ids = first.history.flatMap((message) =>
      message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])) : [],
    );
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(4);
  });

  it('stops between two words when it is aborted', async () => {
    const abort = new AbortController();
    const { stream } = await model.doStream({ prompt: [userText('hi')], abortSignal: abort.signal });
    let words = 0;
    const reading = (async () => {
      for await (const part of stream) if (part.type === 'text-delta' && ++words === 3) abort.abort();
    })();
    await expect(reading).rejects.toThrow(/abort/i);
    expect(words).toBe(3);
    await expect(model.doStream({ prompt: [userText('hi')], abortSignal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
  });

  it('K44 names the nearest model for another name', async () => {
    expect(() => offline.getModel('libarian')).toThrow(
      expect.objectContaining({ code: 'model_unknown', message: expect.stringContaining("did you mean 'librarian'") }),
    );
    expect(await offline.models()).toEqual([{ name: 'librarian', contextWindow: null }]);
  });
});
