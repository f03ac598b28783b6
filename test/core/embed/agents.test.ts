import { expect, it, onTestFinished } from 'vitest';
import { createPith, type PithOptions, type Question } from 'pith/embed';
import { scriptedModel, type ScriptedStep } from 'pith/testing';
import { folderWith } from '../../places.ts';

const usage = { inputTokens: 1000, outputTokens: 100 };
const PRICES = { 'scripted/scripted': { input: 10, output: 100 } };
const DELEGATING = {
  agents: [
    { id: 'editor', instructions: 'Be the editor.', usesTools: ['plan'], delegatesTo: ['writer'] },
    { id: 'writer', instructions: 'Be the writer.', description: 'Writes.', usesTools: ['save'], usesSkills: ['letters'] },
  ],
  skills: [{ id: 'letters', description: 'Writes letters.', body: 'Say ahoy.' }],
  tools: { plan: () => 'planned', save: { description: 'Saves.', needsApproval: true, execute: () => 'saved' } },
} satisfies PithOptions;
const DELEGATE: ScriptedStep = { calls: [{ name: 'delegate_task', input: { agent_id: 'writer', task: 'Write it.' } }], usage };
const SAVE: ScriptedStep = { calls: [{ name: 'save', input: {} }], usage };

async function pithWith(script: readonly ScriptedStep[], options: PithOptions = {}) {
  const model = scriptedModel(script);
  const pith = await createPith({ model: model.model, ...options });
  onTestFinished(() => pith.close());
  return { pith, model };
}

const sent = (request: unknown) => JSON.stringify(request);

it('U40 U47 agents as objects call each other: tools, skills and instructions are kept apart, use and cost add up', async () => {
  const asked: Question[] = [];
  const { pith, model } = await pithWith([DELEGATE, SAVE, { text: 'Ahoy.', usage }, { text: 'It is written.', usage }], {
    ...DELEGATING,
    settings: { prices: PRICES },
    approve: (question) => (asked.push(question), 'yes'),
  });
  expect(await pith.run('write').result).toMatchObject({
    status: 'done',
    text: 'It is written.',
    usage: { inputTokens: 4000, outputTokens: 400 },
    cost: { amount: expect.closeTo(0.08, 6), currency: 'USD' },
  });
  expect(asked).toMatchObject([{ tool: 'save', agents: ['editor', 'writer'] }]);
  const [editor, writer, , after] = model.requests.map(sent) as [string, string, string, string];
  expect([editor.includes('"plan"'), editor.includes('"save"'), editor.includes('Say ahoy.')]).toEqual([true, false, false]);
  expect([writer.includes('"plan"'), writer.includes('"save"'), writer.includes('Say ahoy.')]).toEqual([false, true, true]);
  expect(writer).toContain('Be the writer.');
  expect(after).toContain('Ahoy.');
});

it('U44 a question of an agent that was called waits, and another Pith over the same store goes on', async () => {
  const store = folderWith();
  const options = { ...DELEGATING, store, settings: { prices: PRICES } };
  const first = await pithWith([DELEGATE, SAVE], { ...options, approve: () => 'later' });
  const waiting = await first.pith.run('write').result;
  expect(waiting).toMatchObject({
    status: 'waiting',
    usage: { inputTokens: 2000 },
    questions: [{ tool: 'save', agents: ['editor', 'writer'] }],
  });
  await first.pith.close();
  const second = await pithWith(
    [
      { text: 'Ahoy.', usage },
      { text: 'It is written.', usage },
    ],
    options,
  );
  const ended = await second.pith.resume(waiting.thread, { [waiting.questions[0]!.id]: 'yes' }).result;
  expect(ended).toMatchObject({ status: 'done', text: 'It is written.', cost: { amount: expect.closeTo(0.08, 6) } });
  expect(sent(second.model.requests[0])).toContain('saved');
});

it.each([
  [
    'delegatesTo',
    { agents: [{ id: 'editor', delegatesTo: ['writr'] }, { id: 'writer' }] },
    /agents\.editor: .*'writr'.*did you mean 'writer'/u,
  ],
  ['usesSkills', { agents: [{ id: 'editor', usesSkills: ['leters'] }] }, /agents\.editor: .*leters/u],
  ['usesTools', { agents: [{ id: 'editor', usesTools: ['webb'] }] }, /agents\.editor: .*webb/u],
  ['an id', { agents: [{ id: 'The Editor' }] }, /agents: 'The Editor' is not an id/u],
  ['two of one id', { agents: [{ id: 'a' }, { id: 'a' }] }, /agents: 'a' is there twice/u],
] as const)('U40 refuses agents with wrong names: %s', async (_, options, message) => {
  await expect(createPith(options as PithOptions)).rejects.toMatchObject({
    code: 'settings_invalid',
    message: expect.stringMatching(message),
    cure: expect.any(String),
  });
});
