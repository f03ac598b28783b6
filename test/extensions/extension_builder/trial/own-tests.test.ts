import path from 'node:path';
import { createConfinedPrograms, probeSandboxing } from '@pith/supervised-process';
import { describe, expect, it } from 'vitest';
import { runOwnTests } from '../../../../sandbox/extensions/extension_builder/trial/own-tests.ts';
import { folderWith, writeFiles } from '../../../places.ts';
import { probe, trialKernel } from './probe.ts';

const FILES = {
  'manifest.yaml': 'id: double\nentrypoint: main.ts\nprovides: [tool]\n',
  'main.ts': 'export const double = (n: number) => n * 2;\nexport default class Double { getTools() { return []; } }\n',
};
const { available } = await probeSandboxing();

/** Runs the tests of an extension as a trial does after it was loaded. */
async function errorsOf(tests: string) {
  const folder = folderWith();
  const directory = path.join(folder, 'extensions/double');
  writeFiles(directory, { ...FILES, 'double.test.ts': tests });
  const programs = createConfinedPrograms();
  const ran = { programs, directory, place: path.join(folder, 'place'), pith: path.resolve('.'), bare: !available };
  const { findings, tried } = await runOwnTests(ran, AbortSignal.timeout(120_000));
  expect(tried).toEqual(['double.test.ts']);
  return findings;
}

const HEAD =
  "import fs from 'node:fs';\nimport test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { double } from './main.ts';\n";

describe('the tests of an extension', () => {
  it('K72 run beside it, also with the contract, and pass', async () => {
    expect(
      await errorsOf(`${HEAD}import { z } from 'pith';\ntest('doubles', () => assert.equal(z.number().parse(double(2)), 4));\n`),
    ).toEqual([]);
  });

  it('K72 may import packages of Pith and the contract of another extension', async () => {
    const imports = `${HEAD}import { skillsChanged } from 'pith/skill_registry';\nimport { once } from '@pith/promises';\n`;
    expect(await errorsOf(`${imports}test('knows it', () => assert.equal(once(() => skillsChanged.id)(), 'skills.changed'));\n`)).toEqual(
      [],
    );
  });

  it('K72 run in a trial, and name what failed', async () => {
    await using kernel = await trialKernel();
    const folder = path.join(kernel.sandbox, '.staging/extensions/double');
    const tests = `${HEAD}test('doubles well', () => assert.equal(double(2), 5));\n`;
    writeFiles(folder, { ...FILES, 'double.test.ts': tests });
    const { findings, tried } = await probe(kernel, folder);
    expect(tried).toContain('double.test.ts');
    expect(findings.filter(({ severity }) => severity === 'error')).toMatchObject([
      { check: 'tests', file: expect.stringMatching(/double\.test\.ts$/), message: expect.stringContaining('doubles well') },
    ]);
  });

  it.each([
    ['fills the heap', 'const all: unknown[] = []; for (;;) all.push(new Array(1_000_000).fill(0.5));', /heap|memory/],
    ['floods', "for (;;) fs.writeSync(1, 'x'.repeat(100000) + '\\n');", /print|output/],
  ])('K72 cost the kernel nothing when one %s', async (_what, body, why) => {
    const errors = await errorsOf(`${HEAD}test('doubles', () => { ${body} });\n`);
    expect(errors).toMatchObject([{ check: 'tests', message: expect.stringMatching(why) }]);
  });
});
