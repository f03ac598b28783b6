import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { scriptedModel, testKernel } from 'pith/testing';
import { editAs, HELPER, ONLY, saveAs, savedKernel, type SavedKernel } from './saved-kernel.ts';
import { rowsIn } from './shared-store.ts';

const PLAIN = { system_prompt: 'You help.' };

/** What the model was offered in the last step of a turn as this user. */
async function offered(kernel: SavedKernel, userId: string) {
  kernel.model.add({ text: 'seen' });
  const threadId = `${userId}-${kernel.model.requests.length}`;
  expect((await kernel.pith.run('hi', { agent: 'helper', userId, threadId })).text).toBe('seen');
  return kernel.model.requests.at(-1)?.tools ?? [];
}
const namesFor = async (kernel: SavedKernel, userId: string) => (await offered(kernel, userId)).map(({ name }) => name);
/** A command in another process. */
async function elsewhere(kernel: SavedKernel, userId: string, argv: readonly string[]): Promise<void> {
  const other = await testKernel({ sandbox: kernel.pith.sandbox, model: scriptedModel([]) });
  await other.command(argv, { userId });
  await other.stop();
}
const fileOf = (kernel: SavedKernel) => path.join(kernel.pith.sandbox, 'data/pith.db');

describe('names of exposed skills', () => {
  it('M52 none is that of a tool of the extension, by its name or by another: the extension goes on', async () => {
    const kernel = await savedKernel([], { files: HELPER });
    await saveAs(kernel, 'bob', 'mine', PLAIN);
    const own = [...(await namesFor(kernel, 'bob')), 'update_status'];
    expect(own).toContain('skill_invoke');
    for (const name of own) {
      expect(await kernel.as('bob', `saved expose mine on --as ${name}`)).toMatchObject({ error: 'name_taken' });
      expect(await saveAs(kernel, 'bob', name, { ...PLAIN, expose_as_chatbot_tool: true })).toMatchObject({ error: 'name_taken' });
    }
    await kernel.as('bob', 'saved expose mine on');
    await saveAs(kernel, 'ada', 'two', PLAIN);
    expect((await kernel.as('ada', 'saved expose two on')).code).toBe(0);
    await kernel.pith.write('files/edit.yml', 'name: update_status\n');
    const rename = ['saved', 'edit', 'mine', '--file', `${kernel.pith.sandbox}/files/edit.yml`];
    expect(await kernel.as('bob', rename)).toMatchObject({ error: 'name_taken' });
    await kernel.restart();
    expect(await namesFor(kernel, 'bob')).toEqual(expect.arrayContaining(['mine', 'skill_invoke']));
  });

  it('M52 two processes that save one name at once cost the second skill its tool, and nothing else', async () => {
    const kernel = await savedKernel([], { files: HELPER });
    for (const [owner, name] of [
      ['ada', 'one'],
      ['bob', 'two'],
      ['bob', 'three'],
    ] as const) {
      await saveAs(kernel, owner, name, PLAIN);
      await kernel.as(owner, `saved expose ${name} on`);
    }
    rowsIn(fileOf(kernel), "UPDATE saved_skills__skills SET chatbot_tool_name = 'one' WHERE name = 'two' RETURNING id");
    rowsIn(fileOf(kernel), "UPDATE saved_skills__skills SET chatbot_tool_name = 'skill_invoke' WHERE name = 'three' RETURNING id");
    await kernel.restart();
    expect(await namesFor(kernel, 'ada')).toEqual(expect.arrayContaining(['one', 'skill_invoke']));
    const names = await namesFor(kernel, 'bob');
    expect(names).toContain('skill_invoke');
    expect(names).not.toContain('one');
    const found = JSON.stringify(await kernel.pith.kernel.problems());
    expect(found).toContain("'bob/two' is not a tool: the name 'one' is that of another");
    expect(found).toContain("'bob/three' is not a tool: the name 'skill_invoke' is that of another");
    expect((await kernel.as('bob', 'saved expose two on --as other')).code).toBe(0);
  });

  it('M52 none is that of a tool of another extension, by which the model would not find it', async () => {
    const kernel = await savedKernel([], { only: [...ONLY, 'kv'] });
    await saveAs(kernel, 'bob', 'mine', PLAIN);
    const message = "the tool name 'kv_get' is that of 'kv/kv_get'";
    expect(await kernel.as('bob', 'saved expose mine on --as kv_get')).toMatchObject({ error: 'name_taken', message });
    expect(await saveAs(kernel, 'bob', 'kv_get', { ...PLAIN, expose_as_chatbot_tool: true })).toMatchObject({
      error: 'name_taken',
      message,
    });
  });

  it('M23 a name that is taken is said to be that of a skill only to those who may see it', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'layoffs', PLAIN);
    await kernel.as('ada', 'saved expose layoffs on --as plan');
    await saveAs(kernel, 'bob', 'mine', PLAIN);
    expect(await kernel.as('bob', 'saved expose mine on --as plan')).toMatchObject({
      error: 'name_taken',
      message: "the tool name 'plan' is taken",
    });
    await kernel.as('ada', 'saved share layoffs public');
    expect((await kernel.as('bob', 'saved expose mine on --as plan')).message).toBe("the tool name 'plan' is that of 'ada/layoffs'");
  });
});

describe('what agents are offered', () => {
  it('M10 M52 the inputs of the version that the person runs: the pinned ones, and to the owner those of the draft', async () => {
    const kernel = await savedKernel([], { files: HELPER });
    const inputs = (name: string) => ({ input_schema: [{ name, required: true }] });
    await saveAs(kernel, 'ada', 'greet', { ...PLAIN, ...inputs('who'), visibility: 'public' });
    await kernel.as('ada', 'saved expose greet on');
    await kernel.as('admin', 'saved pin ada/greet');
    await editAs(kernel, 'ada', 'greet', inputs('name'));
    const greet = async (userId: string) => (await offered(kernel, userId)).find(({ name }) => name === 'greet')?.inputSchema;
    expect(await greet('bob')).toMatchObject({ properties: { who: {} }, required: ['who'] });
    expect(await greet('ada')).toMatchObject({ properties: { name: {} }, required: ['name'] });
    const threadId = 'runs-it';
    kernel.model.add(
      { calls: [{ name: 'greet', input: { who: 'Bo' } }] },
      { text: 'Hello Bo.' },
      { calls: [{ name: 'list_saved_skills', input: {} }] },
      { text: 'told' },
    );
    await kernel.pith.run('greet Bo', { agent: 'helper', userId: 'bob', threadId });
    const sent = JSON.stringify(kernel.model.requests.at(-1)?.messages);
    expect(sent).toContain('Hello Bo.');
    expect(sent).toContain('who:string');
  });

  it('M9 M52 no skill that the person may see and not run, and none that was retired', async () => {
    const kernel = await savedKernel([], { files: HELPER });
    await saveAs(kernel, 'ada', 'greet', { ...PLAIN, visibility: 'public' });
    await kernel.as('ada', 'saved expose greet on');
    expect(await namesFor(kernel, 'ada')).toContain('greet');
    expect(await namesFor(kernel, 'bob')).not.toContain('greet');
    kernel.model.add({ calls: [{ name: 'list_saved_skills', input: {} }] }, { text: 'told' });
    await kernel.pith.run('list', { agent: 'helper', userId: 'bob', threadId: 'list' });
    expect(JSON.stringify(kernel.model.requests.at(-1)?.messages)).not.toContain('ada/greet');
    await kernel.as('admin', 'saved pin ada/greet');
    expect(await namesFor(kernel, 'bob')).toContain('greet');
    await kernel.as('ada', 'saved retire greet --by helper');
    expect(await namesFor(kernel, 'ada')).not.toContain('greet');
  });

  it('M52 a turn has what another process exposed before it, and not what that took back', async () => {
    const kernel = await savedKernel([], { files: HELPER });
    await saveAs(kernel, 'ada', 'weather', PLAIN);
    expect(await namesFor(kernel, 'ada')).not.toContain('weather');
    await elsewhere(kernel, 'ada', ['saved', 'expose', 'weather', 'on']);
    expect(await namesFor(kernel, 'ada')).toContain('weather');
    await elsewhere(kernel, 'ada', ['saved', 'expose', 'weather', 'off']);
    expect(await namesFor(kernel, 'ada')).not.toContain('weather');
  });
});

describe('the one way to run a saved skill', () => {
  it('G2 M52 M53 a skill that is exposed is used from the shipped chat, as a run, with its inputs, lane and record', async () => {
    const call = (input: Record<string, string>) => ({ calls: [{ name: 'weather', input }] });
    const kernel = await savedKernel([call({}), call({ city: 'Rome' }), { text: 'sunny' }, { text: 'It is sunny.' }, { text: 'seen' }]);
    const input_schema = [{ name: 'city', required: true }];
    await saveAs(kernel, 'ada', 'weather', { ...PLAIN, input_schema, initial_message: 'Weather of {{ city }}' });
    await kernel.as('ada', 'saved expose weather on --channel cli');
    const asked = { agent: 'orchestrator', userId: 'ada', channelId: 'cli' };
    expect((await kernel.pith.run('weather of Rome', { ...asked, threadId: 'one' })).text).toBe('It is sunny.');
    expect(JSON.stringify(kernel.model.requests[1]?.messages)).toContain("'city' is missing");
    expect(JSON.stringify(kernel.model.requests[2]?.messages)).toContain('Weather of Rome');
    const [run, ...more] = (await kernel.as('ada', 'runs list')).json as readonly object[];
    expect(run).toMatchObject({ skill: 'ada/weather', cause: 'tool', inputs: { city: 'Rome' }, lane: 'skill-default', output: 'sunny' });
    expect(more).toEqual([]);
    await kernel.pith.run('and elsewhere?', { ...asked, channelId: 'web', threadId: 'two' });
    expect(kernel.model.requests.at(-1)?.tools.map(({ name }) => name)).not.toContain('weather');
  });

  it('G3 M52 M53 nothing else of a conversation reaches one: no agent, no tool, no list', async () => {
    const kernel = await savedKernel([], { files: HELPER });
    await saveAs(kernel, 'ada', 'hidden', { ...PLAIN, visibility: 'public' });
    await kernel.as('admin', 'saved pin ada/hidden');
    await saveAs(kernel, 'ada', 'elsewhere', PLAIN);
    await kernel.as('ada', 'saved expose elsewhere on --channel cli');
    const invoke = (skill: string) => ({ calls: [{ name: 'skill_invoke', input: { skill } }] });
    kernel.model.add(invoke('hidden'), invoke('elsewhere'), { calls: [{ name: 'list_saved_skills', input: {} }] }, { text: 'told' });
    const { results } = await kernel.pith.run('go', { agent: 'helper', userId: 'ada', channelId: 'web', threadId: 'go' });
    const said = {
      code: 'not_allowed',
      message: expect.stringContaining('is not exposed to this chat; its owner exposes it: pith saved expose ada/'),
    };
    expect(results).toMatchObject([{ error: said }, { error: said }, { ok: true, output: { skills: [] } }]);
    expect((await kernel.pith.kernel.agents.list()).map(({ id }) => id).filter((id) => id.includes('hidden'))).toEqual([]);
    expect((await kernel.as('ada', 'runs list')).json).toEqual([]);
  });

  it('M10 M52 a run has the tools that it names, and no exposed skill besides', async () => {
    const kernel = await savedKernel([{ text: 'done' }]);
    for (const name of ['one', 'two']) {
      await saveAs(kernel, 'ada', name, PLAIN);
      await kernel.as('ada', `saved expose ${name} on`);
    }
    await saveAs(kernel, 'ada', 'outer', { ...PLAIN, tools: ['saved_skills/one'] });
    expect((await kernel.as('ada', 'run outer')).json).toMatchObject({ state: 'ok' });
    expect(kernel.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['one', 'update_status']);
  });

  it('G9 M52 a conversation has the first twelve by name, and finds or lists the others', async () => {
    const kernel = await savedKernel([], { files: HELPER });
    const names = Array.from({ length: 14 }, (_, at) => `job-${String(at).padStart(2, '0')}`);
    for (const name of names.toReversed()) await saveAs(kernel, 'ada', name, { ...PLAIN, expose_as_chatbot_tool: true });
    expect((await namesFor(kernel, 'ada')).filter((name) => name.startsWith('job-'))).toEqual(names.slice(0, 12));
    const [list, find] = [
      ['list_saved_skills', {}],
      ['find_tools', { query: 'job-13' }],
    ].map(([name, input]) => ({ calls: [{ name, input }] }) as never);
    kernel.model.add(list!, find!, { text: 'told' });
    await kernel.pith.run('list', { agent: 'helper', userId: 'ada', threadId: 'list' });
    expect(JSON.stringify(kernel.model.requests.at(-1)?.messages)).toContain('job-13');
    expect(kernel.model.requests.at(-1)?.tools.map(({ name }) => name)).toContain('job-13');
  });
});
