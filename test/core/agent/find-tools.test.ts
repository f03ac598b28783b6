import { describe, expect, it } from 'vitest';
import { recipeFor } from '../../../sandbox/extensions/compaction/recipe.ts';
import { agent, call, createWorld, type FakeExtension, type World, type WorldOptions } from './world.ts';

const names = (world: World) => world.model.requests.map(({ tools }) => tools.map(({ name }) => name));
const find = (query: string) => call('find_tools', { query });

/** `ext` has `look`, always; `later` and `long` have tools on demand. */
const extensions = (): Record<string, FakeExtension> => ({
  ext: { tools: { look: {} } },
  later: {
    tools: {
      schedule_once: { description: 'Runs an agent once at a later time.', run: () => 'planned' },
      list_schedules: { description: 'Lists what is scheduled.' },
    },
  },
  long: { tools: { submit_task: { description: 'Hands long work to an agent in the background.', effect: 'write' } } },
});

const worldOf = (script: WorldOptions['script'], more: Partial<WorldOptions> = {}) =>
  createWorld({ agents: [agent('main', { usesTools: ['ext'], findsTools: ['*'] })], extensions: extensions(), script, ...more });

describe('G9 tools on demand', () => {
  it('G9 are not sent until find_tools has found them, then from the next step on', async () => {
    const world = await worldOf([find('run an agent once'), call('schedule_once'), { text: 'ok' }]);
    const { results } = await world.run('hi');
    expect(names(world)).toEqual([
      ['look', 'find_tools'],
      ['look', 'find_tools', 'schedule_once'],
      ['look', 'find_tools', 'schedule_once'],
    ]);
    expect(results.map(({ output }) => output)).toEqual([
      'You have these tools from your next step on:\n- schedule_once: Runs an agent once at a later time.',
      'planned',
    ]);
    const [first, ...later] = world.model.requests.map(({ tools }) => tools[1]);
    expect(first).toMatchObject({ description: expect.stringContaining('There are: list_schedules, schedule_once, submit_task.') });
    expect(later).toEqual([first, first]);
  });

  it('G9 stay for the thread, also once it is compacted, and for no other thread', async () => {
    const said = { text: 'word '.repeat(400) };
    const compact: WorldOptions['compact'] = async (request) => recipeFor(request);
    const world = await worldOf([find('submit_task'), said, said, { text: 'SHORT' }, { text: 'ok' }, { text: 'ok' }], { compact });
    for (const text of ['one', 'two']) await world.run(text);
    await world.kernel.agents.compact('thread');
    expect(JSON.stringify(await world.history())).not.toContain('"toolName":"find_tools"');
    await world.run('three');
    await world.run('elsewhere', { threadId: 'other' });
    expect(names(world).slice(-2)).toEqual([
      ['look', 'find_tools', 'submit_task'],
      ['look', 'find_tools'],
    ]);
  });

  it('G9 are found by their names and those of their extensions, and nothing is found otherwise', async () => {
    const world = await worldOf([find('later'), find('weather in Vienna'), find(' '), { text: 'ok' }]);
    const { results } = await world.run('hi');
    expect(names(world).at(-1)).toEqual(['look', 'find_tools', 'schedule_once', 'list_schedules']);
    expect(results.map(({ output, error }) => output ?? error)).toEqual([
      expect.stringContaining('schedule_once'),
      "No tool fits 'weather in Vienna'. There are: list_schedules, schedule_once, submit_task.",
      { code: 'tool_input_invalid', message: "'query' is not a text; say in a few words what the tool should do" },
    ]);
  });

  it('G9 run where the model calls one by its name at once, as it may have learned it from the description', async () => {
    const world = await worldOf([call('submit_task'), { text: 'ok' }]);
    const { results } = await world.run('hi');
    expect(results).toMatchObject([{ name: 'submit_task', ok: true }]);
  });

  it('G9 are what an unknown name may have meant, before and after they are found, and the list of those that there are says what it leaves out', async () => {
    const many = Object.fromEntries(Array.from({ length: 45 }, (_, at) => [`also_${at}`, {}]));
    const script = [call('shedule_once'), find('schedule_once'), call('zzz'), { text: 'ok' }];
    const world = await worldOf(script, { extensions: { ...extensions(), ext: { tools: many } } });
    const { results } = await world.run('hi');
    expect(results[0]?.error?.message).toBe("there is no tool 'shedule_once'; the nearest is schedule_once");
    expect(results[2]?.error?.message).toMatch(/^there is no tool 'zzz'; there are schedule_once, also_0, .* and \d+ more$/u);
  });

  it('G9 keep to the policy of the turn, and to plan mode', async () => {
    const world = await worldOf([{ text: 'ok' }, { text: 'ok' }, find('submit_task'), call('submit_task'), { text: 'ok' }]);
    await world.run('one', { policy: { denyTools: ['later', 'long/submit_task'] } });
    await world.run('two', { policy: { allowTools: ['later/list_schedules'] } });
    const { results } = await world.run('three', { policy: { readOnly: true } });
    expect(names(world).slice(0, 2)).toEqual([['look'], ['find_tools']]);
    expect(world.model.requests[1]?.tools[0]?.description).toMatch(/There are: list_schedules\.$/);
    expect(results.map(({ ok, error }) => [ok, error?.code])).toEqual([
      [true, undefined],
      [false, 'plan_mode'],
    ]);
    expect(world.calls).toEqual([]);
  });

  it('G9 an extension may bring some of its own to a turn on demand', async () => {
    const saved: FakeExtension = {
      tools: { first: { optIn: true }, second: { optIn: true } },
      turnTools: () => [{ tool: 'first' }, { tool: 'second', onDemand: true }],
    };
    const main = agent('main', { findsTools: ['saved'] });
    const world = await worldOf([find('second'), { text: 'ok' }], { agents: [main], extensions: { saved } });
    await world.run('hi');
    expect(names(world)).toEqual([
      ['first', 'find_tools'],
      ['first', 'find_tools', 'second'],
    ]);
  });

  it('G9 are listed and called by hand like others, and a wrong entry is a warning', async () => {
    const world = await worldOf([], { agents: [agent('main', { usesTools: ['ext'], findsTools: ['later', 'lnog'] })] });
    const tools = await world.kernel.agents.toolsOf('main');
    expect(tools.map(({ modelName, onDemand = false }) => [modelName, onDemand])).toEqual([
      ['look', false],
      ['find_tools', false],
      ['schedule_once', true],
      ['list_schedules', true],
    ]);
    const { agents } = world.kernel;
    expect(await agents.callTool('main', 'schedule_once', {})).toMatchObject({ output: 'planned' });
    expect(await agents.callTool('main', 'find_tools', { query: 'schedules' })).toMatchObject({ ok: true });
    const { notes } = (await agents.list()).find(({ id }) => id === 'main')!;
    expect(notes).toMatchObject([{ code: 'name_unknown', message: expect.stringContaining("finds_tools 'lnog': nothing declares") }]);
  });
});
