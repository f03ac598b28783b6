import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type ContextProvider, defineTool, type ExtensionContext, type ServiceProvider, type ToolGuard, type ToolProvider, z } from 'pith';
import { createPith, type PithOptions } from 'pith/embed';
import { scriptedModel, type ScriptedStep } from 'pith/testing';
import { folderWith } from '../../places.ts';

async function pithWith(script: readonly ScriptedStep[], options: PithOptions = {}) {
  const model = scriptedModel(script);
  const pith = await createPith({ model: model.model, ...options });
  onTestFinished(() => pith.close());
  return { pith, model };
}

class Shop implements ToolProvider, ContextProvider {
  readonly contextPriority = 5;

  constructor(private readonly context: ExtensionContext<{ city: string }>) {}

  getTools() {
    const { city } = this.context.config;
    return [defineTool({ name: 'stock', description: 'Stock.', input: z.object({}), execute: () => `3 in ${city}` })];
  }

  async getContext() {
    return `The shop is in ${this.context.config.city}.`;
  }
}

class NoWrites implements ToolGuard {
  async beforeToolCall({ tool }: { readonly tool: string }) {
    return tool === 'embedded/wipe' ? { deny: 'nothing is wiped here' } : null;
  }
}

it('U40 extensions as objects: tools, context, configuration and guards, without a file', async () => {
  const wiped: unknown[] = [];
  const script = [
    {
      calls: [
        { name: 'stock', input: {} },
        { name: 'wipe', input: {} },
      ],
    },
    { text: 'ok' },
  ];
  const { pith, model } = await pithWith(script, {
    tools: { wipe: () => wiped.push('all') },
    extensions: [
      { id: 'shop', provides: ['tool', 'context'], manifest: { config: { city: 'Graz' } }, extension: Shop },
      { id: 'no_writes', provides: ['guard'], extension: NoWrites },
    ],
    settings: { extensions: { shop: { city: 'Oslo' } } },
  });
  await pith.run('hi').result;
  expect(JSON.stringify(model.requests[0])).toContain('The shop is in Oslo.');
  const answers = JSON.stringify(model.requests[1]);
  expect([answers.includes('3 in Oslo'), answers.includes('nothing is wiped here'), wiped]).toEqual([true, true, []]);
});

it('U40 a service as an object runs from createPith to close', async () => {
  const seen: string[] = [];
  class Worker implements ServiceProvider {
    async runBackground(signal: AbortSignal) {
      seen.push('began');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      seen.push('ended');
    }
  }
  const { pith } = await pithWith([], { extensions: [{ id: 'worker', provides: ['service'], extension: Worker }] });
  await expect.poll(() => seen).toEqual(['began']);
  await pith.close();
  expect(seen).toEqual(['began', 'ended']);
});

const FOLDER = {
  'weather/manifest.yaml': 'id: weather\nprovides: [tool]\nentrypoint: main.ts\n',
  'weather/main.ts': `import { defineTool, z } from 'pith';
export default class Weather {
  getTools() { return [defineTool({ name: 'weather', description: 'Weather.', input: z.object({}), execute: () => 'rain in ' + process.pid })]; }
}
`,
};

it.each([
  ['in a process of its own', {}, false],
  ['in the program, where its settings say so', { extensions: { weather: { isolation: 'in_process' } } }, true],
] as const)('U40 an extension in a folder anywhere runs %s', async (_, settings, isHere) => {
  const folder = path.join(folderWith(FOLDER), 'weather');
  const { pith, model } = await pithWith([{ calls: [{ name: 'weather', input: {} }] }, { text: 'ok' }], { extensions: [folder], settings });
  await pith.run('hi').result;
  const [, pid] = /rain in (\d+)/u.exec(JSON.stringify(model.requests[1])) ?? [];
  expect(Number(pid) > 0 && (Number(pid) === process.pid) === isHere).toBe(true);
});

const brokenFolder = () => folderWith({ 'bad/manifest.yaml': 'id: other\nprovides: [tool]\nentrypoint: main.ts\n', 'bad/main.ts': '' });

it.each([
  ['a folder that is not there', () => ['./nowhere/at/all'], /there is no folder/u],
  ['a folder without a manifest', () => [`${brokenFolder()}/`], /has no manifest\.yaml/u],
  ['a manifest that is wrong', () => [path.join(brokenFolder(), 'bad')], /extensions\.bad: the id 'other' differs/u],
  ['an id that is wrong', () => [{ id: 'Shop', provides: ['tool'], extension: Shop }], /extensions\.Shop\.id: must be snake_case/u],
  [
    'a key that is wrong',
    () => [{ id: 'shop', manifest: { sekrets: [] }, extension: Shop }],
    /extensions\.shop: unknown key 'sekrets' \(did you mean 'secrets'/u,
  ],
  ['the id of the tools', () => [{ id: 'embedded', extension: Shop }], /this id is that of your tools/u],
  [
    'two of one id',
    () => [
      { id: 'shop', provides: ['tool'], extension: Shop },
      { id: 'shop', provides: ['tool'], extension: Shop },
    ],
    /^extensions: 'shop' is there more than once$/u,
  ],
  [
    'a dependency that is missing',
    () => [{ id: 'shop', provides: ['tool'], manifest: { depends_on: ['till'] }, extension: Shop }],
    /till/u,
  ],
  [
    'a handler of events',
    () => [{ id: 'shop', manifest: { events: { handles: [{ topic: 'user.message', handler: 'said' }] } }, extension: Shop }],
    /extensions\.shop\.events\.handles: only `pith chat` and `pith serve`/u,
  ],
  ['a job', () => [{ id: 'shop', manifest: { jobs: [{ name: 'count' }] }, extension: Shop }], /extensions\.shop\.jobs: only/u],
  [
    'a schedule',
    () => [{ id: 'shop', manifest: { schedules: [{ name: 'daily', cron: '0 8 * * *', handler: 'count' }] }, extension: Shop }],
    /extensions\.shop\.schedules: only/u,
  ],
  [
    'a schedule of a folder',
    () => {
      const schedule = "schedules: [{ name: daily, cron: '0 8 * * *', handler: count }]\n";
      const manifest = `${FOLDER['weather/manifest.yaml']}${schedule}`;
      return [path.join(folderWith({ ...FOLDER, 'weather/manifest.yaml': manifest }), 'weather')];
    },
    /extensions\.weather\.schedules: only/u,
  ],
  ['an id that ships nowhere', () => ['wbe'], /wbe/u],
] as const)('U40 refuses %s, with the cure', async (_, given, message) => {
  await expect(createPith({ extensions: given() as never })).rejects.toMatchObject({
    message: expect.stringMatching(message),
    cure: expect.any(String),
  });
});

it.each([
  [
    'of a class',
    () => {
      class Broken extends Shop {
        constructor(context: ExtensionContext<{ city: string }>) {
          super(context);
          throw new Error('no till');
        }
      }
      return { id: 'shop', extension: Broken };
    },
    undefined,
  ],
  [
    'of a folder',
    () => path.join(folderWith({ ...FOLDER, 'weather/main.ts': "throw new Error('no till');" }), 'weather'),
    expect.stringContaining('weather'),
  ],
])('U40 an extension %s that cannot start fails createPith with the reason', async (_, given, where) => {
  await expect(createPith({ extensions: [given()] })).rejects.toMatchObject({
    name: 'PithError',
    message: expect.stringMatching(/^extensions\.(?:shop|weather): [^]*no till/u),
    where,
    cure: 'correct its code, then call createPith again',
  });
});

it('U40 a function gives the model for each reference that agents name', async () => {
  const asked: string[] = [];
  const [one, two] = [scriptedModel([{ text: 'one' }]), scriptedModel([{ text: 'two' }])];
  const pith = await createPith({
    model: (ref) => (asked.push(ref), ref === 'fast' ? two.model : one.model),
    agents: [{ id: 'first' }, { id: 'second', model: 'fast' }],
  });
  onTestFinished(() => pith.close());
  expect([(await pith.run('hi').result).text, (await pith.run('hi', { agent: 'second' }).result).text]).toEqual(['one', 'two']);
  expect(asked).toEqual(['default', 'fast']);
});
