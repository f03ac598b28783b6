import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestKernel } from 'pith/testing';
import { sampleInput } from '../../../../sandbox/extensions/extension_builder/trial/inside.ts';
import { writeFiles } from '../../../places.ts';
import { probe, probeHere, trialKernel } from './probe.ts';

const MANIFEST = 'id: city_time\nentrypoint: main.ts\nprovides: [tool]\n';
const tool = (body: string, more = '') => `
import { defineTool, z, type ToolProvider } from 'pith';
export default class CityTime implements ToolProvider {
  getTools() {
    return [defineTool({ name: 'city_time', description: 'Time', effect: 'read', input: z.object({ city: z.string().meta({ examples: ['Berlin'] }) }), ${more}
      execute: ({ city }) => { ${body} } })];
  }
}`;

/** In the long form each trial is a whole one, in its own processes. */
const isLong = process.env['PITH_TEST_LONG'] === '1';
let test: TestKernel;
beforeAll(async () => void (test = await trialKernel()));
afterAll(() => test.stop());

async function tried(files: Readonly<Record<string, string>>, id = 'city_time') {
  const report = isLong ? await wholeTrial(files, id) : await probeHere(id, files);
  return { ...report, errors: report.findings.filter(({ severity }) => severity === 'error') };
}

async function wholeTrial(files: Readonly<Record<string, string>>, id = 'city_time') {
  const folder = path.join(test.sandbox, '.staging', 'extensions', id);
  await rm(folder, { recursive: true, force: true });
  writeFiles(folder, files);
  return probe(test, folder);
}

describe('a probe of a folder', () => {
  it('K72 loads it apart from the sandbox, calls what changes nothing and leaves nothing behind', async () => {
    const report = await wholeTrial({ 'manifest.yaml': MANIFEST, 'main.ts': tool('return { city };') });
    expect(report).toMatchObject({ id: 'city_time', ok: true, tried: ['city_time'], tools: [{ name: 'city_time', effect: 'read' }] });
    expect(test.kernel.host.extensions.ids()).not.toContain('city_time');
    expect(await readdir(path.join(test.kernel.settings.data_dir, 'extensions', 'extension_builder', 'trials'))).toEqual([]);
  });

  it('K72 says what is wrong with it, and where it is', async () => {
    const { ok, findings } = await wholeTrial({ 'manifest.yaml': MANIFEST, 'main.ts': 'export default class {' });
    expect(ok).toBe(false);
    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'load', severity: 'error', file: expect.stringContaining('.staging/extensions/city_time/main.ts') }),
    );
  });

  it.each([
    ['a broken manifest', 'manifest', { 'manifest.yaml': 'id: city_time\nentrypont: main.ts\n' }, /entrypont/],
    [
      'a forbidden import',
      'imports',
      { 'main.ts': `import '../../core/kernel.ts';\n${tool('return 1;')}` },
      /leaves the extension|Could not resolve/,
    ],
    ['a class that lacks a method', 'contract', { 'main.ts': 'export default class X { getTool() { return []; } }' }, /'getTools'/],
    ['a syntax error', 'load', { 'main.ts': 'export default class {' }, /main\.ts:1/],
    [
      'a throwing constructor',
      'load',
      { 'main.ts': 'export default class X { constructor() { throw new Error("no luck"); } getTools() { return []; } }' },
      /no luck/,
    ],
    ['a tool that throws', 'smoke', { 'main.ts': tool('throw new Error(`no ${city}`);') }, /no Berlin/],
    [
      'A3 a guard that answers nothing',
      'smoke',
      {
        'manifest.yaml': MANIFEST.replace('tool', 'guard'),
        'main.ts': 'export default class X { beforeToolCall() {} }',
      },
      /'city_time' cannot answer, so only tools that read run: beforeToolCall returned neither null/,
    ],
    ['an output that is no JSON', 'smoke', { 'main.ts': tool('return { city, f: () => 1 };') }, /not_serialisable/],
  ])('K72 says what is wrong with %s', async (_what, check, files, message) => {
    const { ok, errors } = await tried({ 'manifest.yaml': MANIFEST, 'main.ts': tool('return 1;'), ...files });
    expect(ok).toBe(false);
    expect(errors).toContainEqual(expect.objectContaining({ check, message: expect.stringMatching(message) }));
  });

  it('A3 asks a guard once', async () => {
    const main = 'export default class X { beforeToolCall({ tool, turn }) { return { deny: tool + turn.agent.id }; } }';
    const report = await tried({ 'manifest.yaml': MANIFEST.replace('tool', 'guard'), 'main.ts': main });
    expect(report).toMatchObject({ ok: true, tried: ['beforeToolCall'] });
  });

  it('K72 does not call what writes, what needs a person, and what it has no input for', async () => {
    const report = await tried({ 'manifest.yaml': MANIFEST, 'main.ts': tool('return 1;', 'needsApproval: true,') });
    expect(report.tried).toEqual([]);
    expect(report.findings).toContainEqual(
      expect.objectContaining({ check: 'smoke', severity: 'info', message: expect.stringContaining('a person must agree') }),
    );
  });

  it('K72 calls getContext once', async () => {
    const manifest = 'id: my_context\nentrypoint: main.ts\nprovides: [context]\n';
    const main = (body: string) => `export default class X { contextPriority = 5; async getContext() { ${body} } }`;
    expect(await tried({ 'manifest.yaml': manifest, 'main.ts': main('return "hello";') }, 'my_context')).toMatchObject({
      ok: true,
      tried: ['getContext'],
    });
    expect(await tried({ 'manifest.yaml': manifest, 'main.ts': main('throw new Error("no context");') }, 'my_context')).toMatchObject({
      ok: false,
    });
  });

  it('K72 makes an input from what a schema gives, and says what it lacks', () => {
    const city = { type: 'string' };
    expect(
      sampleInput({ type: 'object', properties: { city, days: { type: 'integer', default: 3 } }, required: ['city', 'days'] }),
    ).toEqual({ lacking: 'city' });
    expect(
      sampleInput({
        type: 'object',
        properties: { city: { ...city, examples: ['Rome'] }, kind: { enum: ['a', 'b'] }, note: city },
        required: ['city', 'kind'],
      }),
    ).toEqual({ input: { city: 'Rome', kind: 'a' } });
  });
});
