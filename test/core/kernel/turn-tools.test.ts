import { scriptedModel, type ScriptedStep, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { kernelOf } from '../../places.ts';

let test: TestKernel;

const source = (getTurnTools: string): string => `
import { defineTool, z } from 'pith';
const tool = (name, optIn) => defineTool({ name, optIn, description: 'A tool.', input: z.object({}), execute: (_, { turn }) => turn.tools.join(' ') });
export default class {
  getTools() { return [tool('open', false), tool('hidden', true)]; }
  ${getTurnTools}
}
`;
const manifest = (id: string, more = ''): string => `id: ${id}\nentrypoint: main.ts\nprovides: [tool]\n${more}`;
const main = (lines: string): string => `id: main\nagent:\n  model: scripted/scripted\n${lines}`;

/** An agent `main` and an extension `mine` whose `getTurnTools` is `method`. */
async function open(method: string, agent: string, script: readonly ScriptedStep[], options: TestKernelOptions = {}) {
  const model = scriptedModel(script);
  test = await kernelOf({
    only: [],
    model,
    files: {
      'pith.yaml': 'default_agent: main\n',
      'agents/main/manifest.yaml': main(agent),
      'extensions/mine/manifest.yaml': manifest('mine', 'agent_keys: [mine]\n'),
      'extensions/mine/main.ts': source(method),
    },
    ...options,
  });
  return { test, model, names: () => model.requests.map(({ tools }) => tools.map(({ name }) => name)) };
}

const HIDDEN = `async getTurnTools(turn) { return [{ tool: 'hidden', description: 'For ' + turn.agent.id + ' ' + turn.tools.length }]; }`;
const callHidden: ScriptedStep = { calls: [{ name: 'hidden', input: {} }] };

describe('DESIGN 3.3 getTurnTools of an extension', () => {
  it.each([
    { tier: 'inside the kernel', options: {} },
    { tier: 'over the wire', options: { wire: true } },
    { tier: 'in a separate process', options: { isolation: 'process' as const, flags: { extensions_sandbox: 'off' as const } } },
  ])('brings tools to a turn, $tier', async ({ options }) => {
    const { test: kernel, model, names } = await open(HIDDEN, '  uses_tools: [mine/open]\n', [callHidden, { text: 'ok' }], options);
    const { results } = await kernel.run('hi');
    expect(names()).toEqual([
      ['open', 'hidden'],
      ['open', 'hidden'],
    ]);
    expect(model.requests[0]?.tools[1]?.description).toBe('For main 1');
    expect(results).toMatchObject([{ name: 'hidden', ok: true, output: 'mine/open mine/hidden' }]);
  });

  it('brings a tool that the extension finds when it is asked, and says so', async () => {
    const method = `
      getTools() { return this.isFound ? [tool('open', false), tool('found', true)] : [tool('open', false)]; }
      constructor(context) { this.context = context; }
      async getTurnTools() {
        this.isFound = true;
        await this.context.events.publish('provider.changed', { extensionId: 'mine', protocol: 'tool' });
        return [{ tool: 'found' }];
      }`;
    const { test: kernel, names } = await open(method, '  uses_tools: [mine/open]\n', [{ text: 'ok' }]);
    await kernel.run('hi');
    expect(names()).toEqual([['open', 'found']]);
  });

  it('is asked for agents with a key that the extension owns', async () => {
    const { test: kernel, names } = await open(HIDDEN, '  mine: {}\n', [{ text: 'ok' }]);
    await kernel.run('hi');
    expect(names()).toEqual([['hidden']]);
  });

  it('is not asked for agents that do not name the extension, which stays unloaded', async () => {
    const { test: kernel, names } = await open(HIDDEN, '', [{ text: 'ok' }]);
    await kernel.run('hi');
    expect(names()).toEqual([[]]);
    expect(kernel.kernel.host.extensions.state('mine')).toBe('idle');
  });

  it('is known of an extension without loading it: one that has none stays idle after a restart', async () => {
    const { test: kernel } = await open('', '  uses_tools: [mine]\n', [{ text: 'ok' }, { text: 'ok' }]);
    await kernel.run('hi'); // learns its tools
    await kernel.restart();
    await kernel.run('again');
    expect(kernel.kernel.host.extensions.state('mine')).toBe('idle');
  });

  it.each([
    ['no list', 'async getTurnTools() { return 7; }'],
    ['an entry that is neither', 'async getTurnTools() { return [{ name: "open" }]; }'],
    ['a toolset without modules', 'async getTurnTools() { return [{ toolset: { id: "a", directory: "/a" } }]; }'],
  ])('%s is a failure of the extension, and the turn goes on', async (_, method) => {
    const { test: kernel, names } = await open(method, '  uses_tools: [mine]\n', [{ text: 'ok' }]);
    const { reason, events } = await kernel.run('hi');
    expect(reason).toBe('done');
    expect(names()).toEqual([['open']]);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'notice', message: expect.stringContaining("'mine' brings no tools to this turn") }),
    );
    expect(kernel.kernel.host.extensions.failures()).toMatchObject([
      { extensionId: 'mine', phase: 'getTurnTools', code: 'provider_failed' },
    ]);
  });

  it('has one second', async () => {
    const { test: kernel, names } = await open('getTurnTools() { return new Promise(() => {}); }', '  uses_tools: [mine]\n', [
      { text: 'ok' },
    ]);
    const { events } = await kernel.run('hi');
    expect(names()).toEqual([['open']]);
    expect(events).toContainEqual(expect.objectContaining({ type: 'notice', code: 'provider_timeout' }));
  });
});

describe('documents of an extension', () => {
  const giving = (documents: string): string =>
    `export default class { contextPriority = 5; async getContext() { return { documents: ${documents} }; } }`;

  it.each([{ wire: false }, { wire: true }])('reach the model whole, without the secrets of the machine (%o)', async (options) => {
    const model = scriptedModel([{ text: 'ok' }]);
    test = await kernelOf({
      only: [],
      model,
      env: { MY_API_KEY: 'topsecretvalue' },
      files: {
        'agents/main/manifest.yaml': main(''),
        'pith.yaml': 'default_agent: main\n',
        'extensions/docs/manifest.yaml': 'id: docs\nentrypoint: main.ts\nprovides: [context]\nsecrets: [MY_API_KEY]\n',
        'extensions/docs/main.ts': giving(`[{ key: 'k', digest: 'd', text: 'The key is topsecretvalue' }]`),
      },
      ...options,
    });
    await test.run('hi');
    const content = JSON.stringify(model.requests[0]?.messages[0]?.content);
    expect(content).toContain('The key is ');
    expect(content).not.toContain('topsecretvalue');
  });

  it('W11 no conversation keeps one, neither in a message nor in the title that a request gives it', async () => {
    test = await kernelOf({
      only: [],
      model: scriptedModel([{ text: 'ok' }]),
      env: { MY_API_KEY: 'topsecretvalue' },
      files: {
        'agents/main/manifest.yaml': main(''),
        'pith.yaml': 'default_agent: main\n',
        'extensions/docs/manifest.yaml': 'id: docs\nentrypoint: main.ts\nprovides: [context]\nsecrets: [MY_API_KEY]\n',
        'extensions/docs/main.ts': giving('[]'),
      },
    });
    const asked = {
      agent: 'main',
      threadId: 't',
      userId: 'ann',
      channelId: 'cli',
      input: 'use topsecretvalue',
      title: 'Of topsecretvalue',
    };
    for await (const _ of test.kernel.agents.run(asked));
    const title = (await test.kernel.conversations?.find('t'))?.title;
    const [message] = (await test.kernel.conversations?.messages('t')) ?? [];
    for (const [kept, begins] of [
      [title, 'Of '],
      [message?.text, 'use '],
    ] as const) {
      expect(kept?.startsWith(begins)).toBe(true);
      expect(kept).not.toContain('topsecretvalue');
    }
  });

  it('in another shape are a failure of the extension', async () => {
    const model = scriptedModel([{ text: 'ok' }]);
    test = await kernelOf({
      only: [],
      model,
      files: {
        'agents/main/manifest.yaml': main(''),
        'pith.yaml': 'default_agent: main\n',
        'extensions/docs/manifest.yaml': 'id: docs\nentrypoint: main.ts\nprovides: [context]\n',
        'extensions/docs/main.ts': giving(`[{ key: 'k', text: 1 }]`),
      },
    });
    expect((await test.run('hi')).reason).toBe('done');
    expect(test.kernel.host.extensions.failures()).toMatchObject([{ phase: 'getContext', code: 'provider_failed' }]);
  });
});
