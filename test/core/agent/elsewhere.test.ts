import { describe, expect, it } from 'vitest';
import { toolError } from '../../../core/contract/index.ts';
import { call, createWorld, type FakeExtension, type WorldOptions } from './world.ts';

/** `ext` has one tool that a client runs, which it gives to each turn under two names; what the client has answered is in `answers`. */
async function withClient(script: WorldOptions['script'], answers: Map<string, string>) {
  const ext: FakeExtension = {
    tools: {
      ran: {
        optIn: true,
        effect: 'read',
        run: (_, { callId = '' }) => answers.get(callId) ?? toolError('awaiting_result', 'the client has not answered'),
      },
      note: { effect: 'write', run: () => 'noted' },
    },
    turnTools: () => ['weather', 'note'].map((name) => ({ tool: 'ran', name, description: `The client's ${name}.`, elsewhere: true })),
  };
  return createWorld({ extensions: { ext }, script });
}

describe('W20 tools of a turn that somebody else runs', () => {
  it('W20 one tool stands under several names, and a name that is taken stays with who has it', async () => {
    const world = await withClient([{ text: 'ok' }], new Map());
    await world.run('hi');
    expect(world.model.requests[0]?.tools).toMatchObject([
      { name: 'note' },
      { name: 'weather', description: "The client's weather." },
      { name: 'ext__note', description: "The client's note." },
    ]);
  });

  it('W20 a call without a result suspends the turn, which goes on with the results and repeats nothing', async () => {
    const answers = new Map<string, string>();
    const asks = {
      calls: [
        { name: 'note', input: {}, id: 'own' },
        { name: 'weather', input: { city: 'Bern' }, id: 'a' },
        { name: 'weather', input: { city: 'Oslo' }, id: 'b' },
      ],
    };
    const world = await withClient([asks, { text: 'Rain and snow.' }], answers);
    const first = await world.run('How is it there?');
    expect(first.end.reason).toBe('awaiting_approval');
    expect(first.results.map(({ id }) => id)).toEqual(['own']);
    answers.set('a', 'rain');
    const second = await world.run('', { resume: true });
    expect(second.end.reason).toBe('awaiting_approval');
    expect(second.results.map(({ id }) => id)).toEqual(['a']);
    answers.set('b', 'snow');
    const third = await world.run('', { resume: true });
    expect(third.end).toMatchObject({ reason: 'done', text: 'Rain and snow.' });
    expect(third.results.map(({ id }) => id)).toEqual(['b']);
    expect(world.model.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: ['noted', 'rain', 'snow'].map((value) => ({ output: { type: 'text', value } })),
    });
  });

  it('W20 a tool that is not run elsewhere suspends nothing by that error', async () => {
    const ext: FakeExtension = { tools: { ran: { run: () => toolError('awaiting_result', 'wait') } } };
    const world = await createWorld({ extensions: { ext }, script: [call('ran'), { text: 'ok' }] });
    expect((await world.run('hi')).end.reason).toBe('done');
  });

  it('W20 a message in place of the results ends what waited', async () => {
    const world = await withClient([call('weather'), { text: 'ok' }], new Map());
    await world.run('How is it there?');
    expect((await world.run('never mind')).end).toMatchObject({ reason: 'done', text: 'ok' });
    expect(JSON.stringify(world.model.requests[1]?.messages)).toContain("another message came before 'weather' could run");
  });
});

describe('W20 what was said before a thread', () => {
  const history = [
    {
      role: 'user' as const,
      content: [{ type: 'text' as const, text: 'My name is Ada.', providerOptions: { pith: { document: { key: 'k', digest: 'd' } } } }],
    },
    { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'Hello Ada.' }] },
  ];

  it('W20 a new thread begins with it, without what only Pith says of messages; a thread that is there keeps its own', async () => {
    const world = await createWorld({ script: [{ text: 'Ada' }, { text: 'yes' }] });
    await world.run('Who am I?', { history });
    await world.run('Sure?', { history });
    const sent = world.model.requests.map(({ messages }) =>
      messages.map(({ role, content }) => [role, (content.at(-1) as { text: string }).text]),
    );
    const first = [
      ['user', 'My name is Ada.'],
      ['assistant', 'Hello Ada.'],
      ['user', 'Who am I?'],
    ];
    expect(sent).toEqual([first, [...first, ['assistant', 'Ada'], ['user', 'Sure?']]]);
    expect(JSON.stringify(world.model.requests)).not.toContain('"document"');
  });

  it('W20 no system message and nothing else than a message is taken', async () => {
    for (const wrong of [
      { role: 'system', content: 'Obey.' },
      { role: 'user', content: 'text' },
      { role: 'judge', content: [] },
    ]) {
      const world = await createWorld({ script: [] });
      expect((await world.run('hi', { history: [wrong as never] })).end.error).toMatchObject({ code: 'usage' });
    }
  });
});
