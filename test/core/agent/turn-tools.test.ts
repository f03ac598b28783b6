import { describe, expect, it, vi } from 'vitest';
import { PithError, type TurnInfo } from '../../../core/contract/index.ts';
import { gate, passed } from '../../waiting.ts';
import {
  agent,
  call,
  createWorld,
  type FakeTurnTool,
  together,
  type FakeExtension,
  type FakeTool,
  type World,
  type WorldOptions,
} from './world.ts';

const dynamic = (id: string): FakeTurnTool => ({ extension: `set:${id}` });
const names = (world: World) => world.model.requests.map(({ tools }) => tools.map(({ name }) => name));
const messages = (events: readonly { readonly type: string }[]) =>
  events.flatMap((event) => (event.type === 'notice' && 'message' in event ? [String(event.message)] : []));

/** `ext` has `load` and, for those who name it, `hidden`; what it brings to a turn is `brings`. */
async function bringing(
  brings: (turn: TurnInfo) => readonly FakeTurnTool[],
  script: WorldOptions['script'],
  more: Partial<WorldOptions> & { readonly extensions?: Record<string, Set> } = {},
) {
  const asked: TurnInfo[] = [];
  const ext: FakeExtension = {
    tools: { load: {}, hidden: { optIn: true, run: () => 'was hidden' } },
    turnTools: (turn) => (asked.push(turn), brings(turn)),
  };
  const hello: FakeExtension = { tools: { greet: { run: () => 'Hello!' } } };
  const all: Record<string, Set> = { ext, 'set:hello': hello, ...more.extensions };
  const sets = Object.keys(all).filter((id) => id.startsWith('set:'));
  const inside = (id: string) => (sets.includes(id) ? `set_${sets.indexOf(id)}` : id);
  const extensions = Object.fromEntries(Object.entries(all).map(([id, each]) => [inside(id), each]));
  const world = await createWorld({ ...more, extensions, script });
  // A dynamic one is in this process too, under another id: where it runs is not the subject.
  const { dynamic: declarations, extensions: facts, providers } = world.kernel.host;
  const { of, call, needsApproval, refusal, present } = providers.tools;
  const { state, sourceOf } = facts;
  for (const [port, members] of [
    [providers.tools, { of, call, needsApproval, refusal, present }],
    [facts, { state, sourceOf }],
  ] as const)
    for (const [name, member] of Object.entries(members))
      Object.assign(port, {
        [name]: (id: string, ...rest: readonly unknown[]) => (member as (...all: unknown[]) => unknown)(inside(id), ...rest),
      });
  for (const id of sets) await of(inside(id)); // loads it
  const since = world.clock.now();
  const openSet = async (id: string) => {
    if (!sets.includes(id)) throw new PithError('provider_unavailable', `'${id}' cannot be loaded: it is broken`);
    await all[id]!.opening;
    return { tools: await of(inside(id)), problems: [] };
  };
  Object.assign(declarations, { open: (_: string, id: string) => ({ since, opened: openSet(id) }) });
  return { world, asked, ext };
}

/** It is open when this resolves. */
type Set = FakeExtension & { readonly opening?: Promise<unknown> };

describe('DESIGN 3.3 the tools of one turn', () => {
  it('stand behind those of uses_tools, described as the turn needs them, and can be called', async () => {
    const told = { tool: 'hidden', description: 'For this turn.', inputSchema: { type: 'object', description: 'T' } };
    const { world, asked } = await bringing(() => [told], [call('hidden'), { text: 'ok' }]);
    const { results } = await world.run('hi');
    expect(names(world)).toEqual([1, 2].map(() => ['load', 'hidden']));
    expect(world.model.requests[0]?.tools[1]).toMatchObject({ description: 'For this turn.', inputSchema: { description: 'T' } });
    expect(results).toContainEqual(expect.objectContaining({ name: 'hidden', ok: true, output: 'was hidden' }));
    expect(asked.map(({ tools }) => tools)).toEqual([['ext/load'], ['ext/load']]); // of uses_tools, at the beginning and after the call
  });

  it('told differently, a tool of uses_tools keeps its place', async () => {
    const { world } = await bringing(() => [{ tool: 'load', description: 'Anew.' }], [{ text: 'ok' }]);
    await world.run('hi');
    expect(world.model.requests[0]?.tools).toMatchObject([{ name: 'load', description: 'Anew.' }]);
  });

  it('are known to context providers and tools of the same turn', async () => {
    const seen: (readonly string[])[] = [];
    const context: FakeExtension = { context: { priority: 1, get: (_, turn) => (seen.push(turn.tools), null) } };
    const { world } = await bringing(() => [dynamic('hello')], [{ text: 'ok' }], { extensions: { context } });
    await world.run('hi');
    expect(seen).toEqual([['ext/load', 'set:hello/greet']]);
  });

  it('are appended after a step that called their extension, and only then', async () => {
    const script = [call('other'), call('load'), call('greet'), { text: 'ok' }];
    let loaded = false;
    const other: FakeExtension = { tools: { other: {} } };
    const load: FakeExtension['tools'] = { load: { run: () => void (loaded = true) } };
    const { world, asked, ext } = await bringing(() => (loaded ? [dynamic('hello')] : []), script, {
      agents: [agent('main', { usesTools: ['ext', 'other'] })],
      extensions: { other },
    });
    ext.tools = load;
    const { results } = await world.run('hi');
    expect(names(world)).toEqual([
      ['load', 'other'],
      ['load', 'other'],
      ['load', 'other', 'greet'],
      ['load', 'other', 'greet'],
    ]);
    expect(asked).toHaveLength(2); // neither `other` nor the dynamic one is the extension
    expect(results).toContainEqual(expect.objectContaining({ name: 'greet', output: 'Hello!' }));
  });

  it('stay until the end of the turn, and go with it', async () => {
    let first = true;
    const { world } = await bringing(
      () => (first ? ((first = false), [dynamic('hello')]) : []),
      [call('load'), { text: 'ok' }, { text: 'later' }],
    );
    await world.run('hi');
    await world.run('again');
    expect(names(world)).toEqual([['load', 'greet'], ['load', 'greet'], ['load']]);
  });

  it('S70 keep their own names, or get the id in front where one is taken', async () => {
    const long = 'x'.repeat(60);
    const extensions = {
      'set:hello': { tools: { greet: {}, load: {} } },
      'set:größe': { tools: { load: {} } },
      'set:more': { tools: { greet: {}, [long]: {} } },
      mine: { tools: { [long]: {} } },
    };
    const { world } = await bringing(() => ['hello', 'größe', 'more'].map(dynamic), [{ text: 'ok' }], {
      agents: [agent('main', { usesTools: ['ext', 'mine'] })],
      extensions,
    });
    await world.run('hi');
    const [offered = []] = names(world);
    expect(offered).toEqual([
      'load',
      long,
      'hello__greet',
      'hello__load',
      expect.stringMatching(/^gr__e__load_[0-9a-f]{8}$/),
      'more__greet',
      expect.stringMatching(/^more__x{49}_[0-9a-f]{8}$/),
    ]);
    for (const name of offered) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('a name that the model has seen does not change when more comes', async () => {
    let loads = 0;
    const { world, ext } = await bringing(
      () => ['hello', 'more'].slice(0, loads).map(dynamic),
      [call('load'), call('load'), call('greet'), { text: 'ok' }],
      { extensions: { 'set:more': { tools: { greet: { run: () => 'more' } } } } },
    );
    ext.tools = { load: { run: () => void (loads += 1) } };
    await world.run('hi');
    expect(names(world).at(-1)).toEqual(['load', 'greet', 'more__greet']);
    expect(world.calls.at(-1)?.tool).toBe('set_0/greet');
  });

  it('what fails costs its own tools and a notice', async () => {
    const broken: FakeExtension = {
      tools: { mine: {} },
      turnTools: () => {
        throw new PithError('provider_timeout', 'it was too slow');
      },
    };
    const { world } = await bringing(() => [dynamic('gone'), dynamic('hello'), { tool: 'nothing' }], [{ text: 'ok' }], {
      agents: [agent('main', { usesTools: ['broken', 'ext'] })],
      extensions: { broken },
    });
    const { events, end } = await world.run('hi');
    expect(end.reason).toBe('done');
    expect(names(world)).toEqual([['mine', 'load', 'greet']]);
    expect(messages(events)).toEqual([
      "'broken' brings no tools to this turn: it was too slow",
      "the tools of 'set:gone' are missing: 'set:gone' cannot be loaded: it is broken",
      "'ext' brings the tool 'nothing' to this turn, but has no tool of that name",
    ]);
  });

  it('S70 S21 a dynamic extension that is not open in time holds up neither this turn nor the next, and comes with a later step', async () => {
    const { opened: opening, open } = gate();
    const other: FakeExtension = { tools: { other: { run: () => open() } } };
    const { world, asked } = await bringing(() => [dynamic('slow'), dynamic('hello')], [{ text: 'ok' }, call('other'), { text: 'ok' }], {
      agents: [agent('main', { usesTools: ['ext', 'other'] })],
      extensions: { other, 'set:slow': { opening, tools: { late: {} } } },
    });
    const first = world.run('hi');
    await vi.waitFor(() => expect(asked).toHaveLength(1));
    expect(messages((await passed(world.clock, first)).events)).toEqual([
      expect.stringMatching(/'set:slow' are missing: it is still being opened/),
    ]);
    await passed(world.clock, world.run('again'), 0); // it has waited long enough before
    expect(names(world)).toEqual([
      ['load', 'other', 'greet'],
      ['load', 'other', 'greet'],
      ['load', 'other', 'greet', 'late'],
    ]);
  });

  it('are narrowed by the policy of the turn, as they are offered and as they are called', async () => {
    const policy = { denyTools: ['set:hello'] };
    const { world } = await bringing(() => [dynamic('hello'), { tool: 'hidden' }], [call('greet'), { text: 'ok' }], {});
    const { results } = await world.run('hi', { policy });
    expect(names(world)[0]).toEqual(['load', 'hidden']);
    expect(results).toContainEqual(expect.objectContaining({ ok: false, error: expect.objectContaining({ code: 'tool_unknown' }) }));
  });

  it('uses_tools may name a dynamic extension or tools of it, which narrows it; one that nobody declares is said', async () => {
    const extensions = { 'set:hello': { tools: { greet: {}, wave: {} } } };
    const agents = [agent('main', { usesTools: ['ext', 'set:hello/wave', 'set:gone'] })];
    const { world } = await bringing(() => [dynamic('hello')], [{ text: 'ok' }], { agents, extensions });
    const { events } = await world.run('hi');
    expect(names(world)).toEqual([['load', 'wave']]);
    expect(messages(events)).toEqual(["the tools of 'set:gone' are missing: nothing declares them now"]);
  });

  it('are asked for anew when a turn is continued, also for a question about one of them', async () => {
    const extensions = {
      'set:hello': { tools: { greet: { needsApproval: 'always' as const, effect: 'write' as const, run: () => 'Hello!' } } },
    };
    const { world } = await bringing(() => [dynamic('hello')], [call('greet'), { text: 'ok' }], { extensions });
    expect((await world.run('hi')).end.reason).toBe('awaiting_approval');
    expect(await world.answer('once')).toMatchObject({ tool: 'set:hello/greet', source: expect.any(String) });
    const { results, end } = await world.resume();
    expect(end).toMatchObject({ reason: 'done', text: 'ok' });
    expect(results).toMatchObject([{ name: 'greet', output: 'Hello!' }]);
  });

  it('a call that waited runs also when its tool has another name by then', async () => {
    const ids = ['hello'];
    const needsApproval = 'always' as const;
    const extensions = { 'set:hello': { tools: { greet: { needsApproval, run: () => 'Hello!' } } }, 'set:early': { tools: { greet: {} } } };
    const { world } = await bringing(() => ids.map(dynamic), [call('greet'), { text: 'ok' }], { extensions });
    await world.run('hi');
    ids.unshift('early');
    await world.answer('once');
    await world.resume();
    expect(world.calls.map(({ tool }) => tool)).toEqual(['set_0/greet']);
  });

  it('stand in previews, and can be listed and called by hand', async () => {
    const { world } = await bringing(() => [dynamic('hello')], []);
    expect((await world.kernel.agents.preview({ agent: 'main', input: 'hi' })).tools.map(({ name }) => name)).toEqual(['load', 'greet']);
    expect((await world.kernel.agents.toolsOf('main')).map(({ modelName }) => modelName)).toEqual(['load', 'greet']);
    expect(await world.kernel.agents.callTool('main', 'set:hello/greet', {})).toMatchObject({ ok: true, output: 'Hello!' });
  });

  it('K61 an agent made at run time gets those of its caller, and no others', async () => {
    const child = agent('child', { usesTools: ['ext', 'set:hello/greet', 'set:more'], origin: null });
    const run: FakeTool['run'] = async (_, { turn }) =>
      (await world.collect({ agent: child, threadId: 'child', input: 'task', parent: turn })).text;
    const extensions = { 'set:more': { tools: { other: {} } } };
    const { world, ext } = await bringing(
      ({ agent: { id } }) => (id === 'main' ? [dynamic('hello')] : [dynamic('hello'), dynamic('more'), { tool: 'hidden' }]),
      [call('load'), { text: 'child' }, { text: 'ok' }],
      { extensions },
    );
    ext.tools = { load: { run }, hidden: { optIn: true } };
    await world.run('hi');
    expect(names(world)).toEqual([1, 2, 3].map(() => ['load', 'greet']));
  });
});

describe('V7 V12 tools of uses_tools that come while a turn runs', () => {
  it('join with the next step, and nothing is asked again until others come', async () => {
    const tools: Record<string, FakeTool> = { look: {}, add: { run: () => add('ext') }, other: { run: () => add('foreign', 'unseen') } };
    const foreign: Record<string, FakeTool> = { theirs: {} };
    const extensions = { ext: { tools }, foreign: { tools: foreign } };
    const script = [call('look'), call('add'), call('added'), call('other'), { text: 'ok' }];
    const world = await createWorld({ extensions, agents: [agent('main', { usesTools: ['ext'] })], script });
    const add = (id: 'ext' | 'foreign', name = 'added') => {
      extensions[id].tools[name] = { run: () => `this is ${name}` };
      world.kernel.events.publish('provider.changed', { extensionId: id, protocol: 'tool' });
    };
    const asked = vi.spyOn(world.kernel.host.providers.tools, 'turnProviders');
    await world.kernel.host.providers.tools.of('foreign');
    const { results } = await world.run('hi');
    const before = ['look', 'add', 'other'];
    expect(names(world)).toEqual([before, before, [...before, 'added'], [...before, 'added'], [...before, 'added']]);
    expect(results).toContainEqual(expect.objectContaining({ name: 'added', ok: true, output: 'this is added' }));
    expect(asked).toHaveBeenCalledTimes(5); // three times before the model is asked, once for each change
  });

  it('V12 a tool that is gone is offered no more, and nobody is asked about a call of it, in the same step or later', async () => {
    const tools: Record<string, FakeTool> = {
      swap: { effect: 'write', run: () => swapped(world, tools, 'old', { now: {} }) },
      old: { effect: 'write', needsApproval: 'maybe', asks: () => true },
    };
    const script = [together(call('swap'), call('old')), call('old'), call('now'), { text: 'ok' }];
    const world = await createWorld({ tools, script, askAlways: ['ext/old'] });
    const { end, questions, results } = await world.run('hi');
    expect([end.text, questions]).toEqual(['ok', []]);
    expect(results.map((each) => (each.ok ? each.name : each.error?.code))).toEqual(['swap', 'tool_gone', 'tool_unknown', 'now']);
    expect(names(world)).toEqual([['swap', 'old'], ...[1, 2, 3].map(() => ['swap', 'now'])]);
  });

  it('V12 tools that are gone leave their seats to others, however often all are replaced', async () => {
    const many = (round: number) => Object.fromEntries(Array.from({ length: 127 }, (_, at) => [`r${round}_${at}`, {} as FakeTool]));
    let round = 0;
    const swap = () => swapped(world, tools, /^r/u, many((round += 1)));
    const tools: Record<string, FakeTool> = { swap: { run: swap }, ...many(0) };
    const world = await createWorld({ tools, script: [call('swap'), call('swap'), call('swap'), { text: 'ok' }] });
    const { events } = await world.run('hi');
    expect(names(world)).toEqual([0, 1, 2, 3].map((at) => ['swap', ...Object.keys(many(at))]));
    expect(messages(events)).toEqual([]);
  });
});

/** `ext` has `others` from now on, in the place of those that are named so; resolves when the kernel knows it. */
async function swapped({ kernel }: World, tools: Record<string, FakeTool>, gone: string | RegExp, others: Record<string, FakeTool>) {
  for (const name of Object.keys(tools)) if (typeof gone === 'string' ? name === gone : gone.test(name)) delete tools[name];
  Object.assign(tools, others);
  kernel.events.publish('provider.changed', { extensionId: 'ext', protocol: 'tool' });
  await kernel.host.providers.tools.renewals.underWay();
}
