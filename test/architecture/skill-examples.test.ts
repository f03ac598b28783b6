import path from 'node:path';
import { scriptedModel, testKernel, type TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { KERNEL_PROTOCOLS } from '../../core/declarations/index.ts';
import { until } from '../waiting.ts';
import { read } from './repository.ts';
import { exampleOf, SKILL_FILE, TEMPLATES } from './skill-text.ts';

const PROTOCOLS = [...KERNEL_PROTOCOLS.keys()];
const folder = path.dirname(SKILL_FILE);
const template = (name: string) => read(`${folder}/templates/${name}`);
const KINDS = TEMPLATES.flatMap((file) => /main-([a-z]+)-provider\.ts$/.exec(file)?.[1] ?? []);

interface Sample {
  readonly id: string;
  readonly manifest: string;
  readonly main: string;
}

const sample = (manifest: string, main: string): Sample => ({ id: (parse(manifest) as { id: string }).id, manifest, main });
const SAMPLES: readonly Sample[] = [
  ...PROTOCOLS.map((id) => exampleOf(`${folder}/references/${id}.md`)).map(({ manifest, main }) => sample(manifest, main)),
  ...KINDS.map((kind) => sample(template(`manifest-${kind}-provider.yaml`), template(`main-${kind}-provider.ts`))),
];

it('A2 K71 the examples of protocols that extensions define load, too', async () => {
  const samples = ['ranker', 'embedding'].map((page) => {
    const { manifest, main } = exampleOf(`${folder}/references/${page}.md`);
    return sample(manifest, main);
  });
  const files = samples.flatMap(({ id, manifest, main }) => [
    [`extensions/${id}/manifest.yaml`, manifest],
    [`extensions/${id}/main.ts`, main],
  ]);
  await using kernel = await testKernel({ only: ['skill_registry', 'embedding'], files: Object.fromEntries(files) });
  const { extensions } = await kernel.kernel.doctor();
  expect(extensions.filter(({ id }) => samples.some((each) => each.id === id)).map(({ state }) => state)).toEqual(['active', 'active']);
});

it('J1 K71 the example of durable work reminds, waits, and ends', async () => {
  const { manifest, main } = exampleOf(`${folder}/references/jobs.md`);
  const files = { 'extensions/reminders/manifest.yaml': manifest, 'extensions/reminders/main.ts': main };
  const agent = { 'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [reminders] }\n' };
  await using test = await testKernel({ only: [], isolation: 'process', files: { ...files, ...agent } });
  await test.kernel.start();
  const reminded = await test.kernel.agents.callTool('asker', 'remind_me', { text: 'tea', at: '2026-01-01T16:00:00Z' });
  const { id } = (reminded as unknown as { output: { id: string } }).output;
  const state = async (wanted: string) => expect(await test.kernel.jobs.store.get(id)).toMatchObject({ state: wanted });
  await until(() => state('suspended'));
  expect(await test.kernel.agents.callTool('asker', 'reminder_seen', { id })).toEqual({ ok: true, output: true });
  await until(() => state('done'));
  expect((await test.kernel.jobs.store.get(id))?.result).toBe('{"seen":true}');
});

describe('the examples and templates of extension-development', () => {
  let test: TestKernel;
  const model = scriptedModel();

  beforeAll(async () => {
    const files = SAMPLES.flatMap(({ id, manifest, main }) => [
      [`extensions/${id}/manifest.yaml`, manifest],
      [`extensions/${id}/main.ts`, main],
    ]);
    test = await testKernel({
      model,
      only: [],
      files: {
        ...Object.fromEntries(files),
        'agents/my_agent/manifest.yaml': template('manifest-agent.yaml').replace('core_tools, skill_registry', '"*"'),
        'agents/my_agent/prompt.jinja2': template('prompt.jinja2'),
      },
      flags: { default_agent: 'my_agent' },
    });
  });
  afterAll(() => test.stop());

  it('K71 K74 each loads, and so does the agent', async () => {
    const report = await test.kernel.doctor();
    expect(report.extensions.filter(({ state }) => state !== 'active')).toEqual([]);
    expect(report.extensions.length).toBe(SAMPLES.length);
    expect(report.agents).toMatchObject(['french', 'my_agent'].map((id) => ({ id, state: 'active' })));
  });

  it.each(KINDS.map((kind) => template(`main-${kind}-provider.ts`)).filter((main) => main.includes('const config =')))(
    'K4 the settings of a template take no unknown key: %#',
    (main) => expect(main).toMatch(/^const config = z\.strictObject\(/mu),
  );

  it('K71 K74 the tools answer a model, and the context reaches it', async () => {
    model.add(
      {
        calls: [
          { name: 'greet_person', input: { name: 'Ada' } },
          { name: 'get_city_time', input: { city: 'Tokio' } },
        ],
      },
      { text: 'Done.' },
    );
    const turn = await test.run('greet Ada');
    expect(turn.results).toMatchObject([
      { name: 'greet_person', ok: true, output: { text: 'Hello, Ada!' } },
      { name: 'get_city_time', ok: false, error: { code: 'unknown_city', message: expect.stringContaining("did you mean 'tokyo'") } },
    ]);
    expect(turn.requests[0]?.system).toContain('The team works in British English.');
    expect(turn.requests[0]?.system).toContain('You are My agent.');
  });
});
