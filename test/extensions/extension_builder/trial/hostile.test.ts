import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probe, trialKernel } from './probe.ts';

let test: TestKernel;
let made = 0;
beforeAll(async () => void (test = await trialKernel()));
afterAll(() => test.stop());

const tool = (body: string, constructor = '') => `import { defineTool, z } from 'pith';
import fs from 'node:fs';
export default class Hostile {
  constructor() { ${constructor} }
  getTools() {
    return [defineTool({ name: 'hostile', description: 'x', effect: 'read', timeoutMs: 2000, input: z.object({}), execute: async () => { ${body} } })];
  }
}`;
const context = (body: string) => `export default class Hostile { contextPriority = 5; async getContext() { ${body} } }`;
const FOREVER = 'while (true);';
/** As deaf as an endless loop, and leaves the processor to the other tests. */
const DEAF = 'for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';
const HEAP = 'const all = []; for (;;) all.push(new Array(100000).fill(1.5));';

async function errorsOf(provides: string, main: string) {
  const id = `hostile_${(made += 1)}`;
  const folder = path.join(test.sandbox, '.staging', 'extensions', id);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'manifest.yaml'), `id: ${id}\nentrypoint: main.ts\nprovides: [${provides}]\n`);
  await writeFile(path.join(folder, 'main.ts'), main);
  const { findings } = await probe(test, folder);
  return findings.filter(({ severity }) => severity === 'error');
}

async function isTold(provides: string, main: string, check: string) {
  const errors = await errorsOf(provides, main);
  expect(errors).toContainEqual(expect.objectContaining({ check, message: expect.stringMatching(/./) }));
  expect(test.kernel.host.extensions.ids().filter((id) => id.startsWith('hostile'))).toEqual([]);
}

describe('what is loaded for trial', () => {
  // Both wait for the same limit.
  it.concurrent.each([
    ['loops for ever in getContext', 'context', context(FOREVER), 'smoke'],
    ['answers no more in a tool', 'tool', tool(DEAF), 'smoke'],
  ])('K72 K10 is told, and costs nobody anything, when it %s', (_what, provides, main, check) =>
    expect(isTold(provides, main, check)).resolves.toBeUndefined(),
  );

  it.each([
    ['ends its process in getContext', 'context', context('process.exit(0);'), 'smoke'],
    ['fills the heap in getContext', 'context', context(HEAP), 'smoke'],
    ['kills itself in a tool', 'tool', tool("process.kill(process.pid, 'SIGKILL');"), 'smoke'],
    ['floods its output in a tool', 'tool', tool("for (;;) fs.writeSync(1, 'x'.repeat(100000));"), 'smoke'],
    ['ends its process when it is constructed', 'tool', tool('return 1;', 'process.exit(0);'), 'load'],
    ['fills the heap when it is constructed', 'tool', tool('return 1;', HEAP), 'load'],
    ['ends its process when it is imported', 'tool', `process.exit(3);\n${tool('return 1;')}`, 'load'],
    ['imports the kernel', 'tool', `import '../../core/kernel.ts';\n${tool('return 1;')}`, 'imports'],
  ])('K72 K10 is told, and costs nobody anything, when it %s', (_what, provides, main, check) =>
    expect(isTold(provides, main, check)).resolves.toBeUndefined(),
  );
});
