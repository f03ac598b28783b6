import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probe, trialKernel } from './probe.ts';

let kernel: TestKernel;
beforeAll(async () => void (kernel = await trialKernel()));
afterAll(() => kernel.stop());

const MANIFEST = 'id: double\nentrypoint: main.ts\nprovides: [tool]\n';
const MAIN = 'export const double = (n: number) => n * 2;\nexport default class Double { getTools() { return []; } }\n';

async function errorsOf(tests: string) {
  const folder = path.join(kernel.sandbox, '.staging/extensions/double');
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries({ 'manifest.yaml': MANIFEST, 'main.ts': MAIN, 'double.test.ts': tests }))
    await writeFile(path.join(folder, name), text);
  const { findings, tried } = await probe(kernel, folder);
  expect(tried).toContain('double.test.ts');
  return findings.filter(({ severity }) => severity === 'error');
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

  it('K72 name what failed', async () => {
    expect(await errorsOf(`${HEAD}test('doubles well', () => assert.equal(double(2), 5));\n`)).toMatchObject([
      { check: 'tests', file: expect.stringMatching(/double\.test\.ts$/), message: expect.stringContaining('doubles well') },
    ]);
  });

  it.each([
    ['fills the heap', 'const all: unknown[] = []; for (;;) all.push(new Array(100000).fill(0));', /heap|memory/],
    ['floods', "for (;;) fs.writeSync(1, 'x'.repeat(100000) + '\\n');", /print|output/],
  ])('K72 cost the kernel nothing when one %s', async (_what, body, why) => {
    const errors = await errorsOf(`${HEAD}test('doubles', () => { ${body} });\n`);
    expect(errors).toMatchObject([{ check: 'tests', message: expect.stringMatching(why) }]);
  });
});
