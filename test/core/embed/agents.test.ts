import { describe, expect, it, onTestFinished } from 'vitest';
import { PithError } from 'pith';
import { createPith, type PithOptions, type Question } from 'pith/embed';
import { scriptedModel, type ScriptedStep } from 'pith/testing';
import { filesBelow, read } from '../../architecture/repository.ts';
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

describe('U47 a cure is for a program', () => {
  const CURE = /\bcure(?::|\s*=)\s*(?:[\w.]+ \? )?(['"`])((?:\\.|(?!\1)[^\\])*)\1/gu;
  const namesCommand = /\bpith (?!process\b)[a-z]|\(\/[a-z]+\)/u;

  it('U47 whatever an error says to a person who types commands', async () => {
    const files = ['core', 'sandbox/extensions'].flatMap((folder) => filesBelow(folder, '.ts'));
    const all = files.flatMap((file) => [...read(file).matchAll(CURE)].flatMap(([, , cure]) => cure || []));
    const cures = [...new Set(all.filter((cure) => namesCommand.test(cure)))];
    expect(cures.length).toBeGreaterThan(50);
    let asked = 0;
    const model = (): never => {
      throw new PithError('any', "it failed; 'boom' is missing: see 'pith doctor'", { cure: cures[asked++] });
    };
    const pith = await createPith({ model });
    onTestFinished(() => pith.close());
    for (const cure of cures) {
      const run = pith.run('hi');
      const failure = await run.result.catch((error: unknown) => error);
      const { code, cure: can } = failure as PithError;
      expect([code, can]).not.toEqual([code, '']);
      const whole = cure.replaceAll(/ \(\/[a-z]+\)/gu, '');
      expect(whole.startsWith(can?.split('; ', 1)[0] ?? ''), `${cure} → ${can}`).toBe(true); // its beginning, or nothing
      const texts: string[] = [String(failure), can ?? ''];
      const reading = async () => {
        for await (const event of run) if (event.type === 'turn-end') texts.push(event.error?.message ?? '', event.error?.cure ?? '');
      };
      await expect(reading()).rejects.toMatchObject({ code: 'any' });
      expect(texts.filter((text) => namesCommand.test(text))).toEqual([]);
    }
    expect(asked).toBe(cures.length);
  });

  it('U47 an unknown agent: those that are there; an unknown thread: the list of them; two answers: that one is there', async () => {
    const { pith } = await pithWith([DELEGATE, SAVE, { text: 'not saved' }, { text: 'done' }], { ...DELEGATING, approve: () => 'later' });
    await expect(pith.run('hi', { agent: 'writr' }).result).rejects.toMatchObject({
      code: 'agent_unknown',
      cure: 'name one of editor, writer',
    });
    await expect(pith.threads.remove('nowhere')).rejects.toMatchObject({ code: 'thread_unknown', cure: 'see `threads.list`' });
    const { thread, questions } = await pith.run('write').result;
    const answer = (given: 'yes' | 'no') => pith.resume(thread, { [questions[0]!.id]: given }).result;
    const ends = await Promise.allSettled([answer('no'), answer('yes')]);
    expect(ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))).toMatchObject([
      { code: 'approval_answered', cure: 'leave it out of the answers' },
    ]);
  });

  it('U47 a missing key belongs into `env`; that of a model object into the object', async () => {
    const pith = await createPith({ model: 'openai/gpt-5-mini' });
    onTestFinished(() => pith.close());
    await expect(pith.run('hi').result).rejects.toMatchObject({
      code: 'model_auth',
      cure: expect.stringMatching(/^in `env` of createPith: set OPENAI_API_KEY/u),
    });
    const refused = Object.assign(new Error('wrong key'), { statusCode: 401 });
    const doStream = () => Promise.reject(refused);
    const own = await pithWith([], { model: { specificationVersion: 'v3', provider: 'mine', modelId: 'one', doStream } });
    const texts: string[] = [];
    const run = own.pith.run('hi');
    await expect(run.result).rejects.toMatchObject({ code: 'model_auth', cure: 'correct the key of the model object' });
    const reading = async () => {
      for await (const event of run) if (event.type === 'turn-end') texts.push(event.error?.message ?? '');
    };
    await expect(reading()).rejects.toMatchObject({ code: 'model_auth' });
    expect(texts).toEqual([expect.stringMatching(/refused the key.*; correct the key of the model object$/u)]);
  });
});
