import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { exportFindings } from '../../core/compose/index.ts';
import { folderWith } from '../places.ts';
import { within } from '../waiting.ts';
import { runPith } from './pith-process.ts';
import { addressOf, spanCollector } from './span-collector.ts';

const SKILL = { 'sandbox/skills/tea/SKILL.md': '---\nname: tea\ndescription: Make green tea.\n---\nSteep green tea for three minutes.\n' };

/** Runs one message of the offline librarian, which reads a skill. */
const chat = (cwd: string, env: Readonly<Record<string, string>>) =>
  runPith(['chat', '-p', 'How do I make green tea?'], { cwd, env: { PITH_MODEL: 'offline/librarian', ...env } });

it('U42 the command sends its spans to the collector that its environment names, each as the table has it', async () => {
  const collector = await spanCollector();
  expect((await chat(folderWith(SKILL), { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })).code).toBe(0);
  expect(collector.resource()).toMatchObject({ 'service.name': 'pith' });
  const spans = collector.spans();
  const turn = spans.find(({ name }) => name.startsWith('invoke_agent '));
  expect(spans.some(({ name, parentSpanId }) => name === 'execute_tool read_skill tea' && parentSpanId === turn?.spanId)).toBe(true);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(collector.text()).not.toMatch(/three minutes|How do I/u);
});

it('U51 the .env and settings of a project name no collector', async () => {
  const { url, spans } = await spanCollector();
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces` };
  const files = {
    ...SKILL,
    '.env': Object.entries(variables)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
    'sandbox/pith.yaml': JSON.stringify({ ...variables, env: variables, telemetry: variables, extensions: { skill_stats: variables } }),
  };
  for (const PITH_TRUST of ['0', '1']) await chat(folderWith(files), { PITH_TRUST });
  expect(spans()).toEqual([]);
});

it('U51 a collector that never answers holds a command for about two seconds only', async () => {
  let held: Promise<unknown> | null = null;
  const silent = createServer(({ socket }) => {
    held = within(6_000, once(socket, 'close')); // two seconds, and what a busy machine adds; the SDK gives up after 30 s
    held.catch(() => undefined); // awaited below
  });
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: await addressOf(silent), OTEL_EXPORTER_OTLP_TIMEOUT: '600000' };
  expect((await chat(folderWith(SKILL), env)).code).toBe(0);
  expect(held).not.toBeNull();
  await held;
});

const EXPORTER = 'node_modules/@opentelemetry/exporter-trace-otlp-http';
const SDK = { 'node_modules/@opentelemetry/sdk-trace/index.js': '' };
const exporter = (code: string, version = '0.57.0') => ({
  [`${EXPORTER}/package.json`]: JSON.stringify({ version }),
  [`${EXPORTER}/index.js`]: code,
});

it.each([
  ['throws', { ...exporter('throw new Error("wrong Node")'), ...SDK }],
  ['has another shape', { ...exporter('exports.Exporter = class {};'), ...SDK }],
  ['brings another SDK', exporter('exports.OTLPTraceExporter = class {};')],
])('U51 an exporter of the project that %s fails no command, and the one of Pith sends the spans', async (_, files) => {
  const { text, url } = await spanCollector();
  expect((await chat(folderWith({ ...SKILL, ...files }), { OTEL_EXPORTER_OTLP_ENDPOINT: url })).code).toBe(0);
  expect(text()).toContain('invoke_agent');
});

const COLLECTED = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

it('U51 the doctor names the exporter for the running Node where it is missing', () => {
  const cureFor = (node: string) => exportFindings(COLLECTED, [folderWith({})], node).map(({ cure }) => cure);
  expect(cureFor('20.19.0')).toEqual(['npm install @opentelemetry/exporter-trace-otlp-http@0.223.1']);
  expect(cureFor('22.15.0')).toEqual(['npm install @opentelemetry/exporter-trace-otlp-http@0.301.0']);
  expect(exportFindings({}, [folderWith({})], '22.15.0')).toEqual([]);
});

it('U51 the page names the exporters that the doctor names, and the one that is tested', () => {
  const page = readFileSync('docs/traces.md', 'utf8');
  const [older, newer] = ['22.14.0', '22.15.0'].map((node) => exportFindings(COLLECTED, [folderWith({})], node)[0]!.cure!);
  expect(page).toContain(older);
  expect(page).toContain(`from Node 22.15 on take ${newer!.split('@').at(-1)}`);
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { devDependencies: Record<string, string> };
  expect(older).toContain(`exporter-trace-otlp-http@${devDependencies['@opentelemetry/exporter-trace-otlp-http']}`);
});

it('U51 the doctor names the version of an exporter that cannot be loaded, why, and the right one', () => {
  const of = (files: Readonly<Record<string, string>>) => exportFindings(COLLECTED, [folderWith(files)], '20.19.0');
  expect(of({ ...exporter('throw new Error("wrong Node")', '0.301.0'), ...SDK })).toMatchObject([
    {
      code: 'exporter_missing',
      message: expect.stringMatching(/exporter-trace-otlp-http 0\.301\.0 in .* cannot be loaded: wrong Node$/u) as unknown,
      cure: 'npm install @opentelemetry/exporter-trace-otlp-http@0.223.1',
    },
  ]);
  expect(of(exporter('exports.OTLPTraceExporter = class {};'))[0]?.message).toMatch(
    /0\.57\.0 in .*: Cannot find module '@opentelemetry\/sdk-trace'$/u,
  );
  expect(of({ [`${EXPORTER}/package.json`]: '{' })[0]?.message).toMatch(/without a version in/u);
});
