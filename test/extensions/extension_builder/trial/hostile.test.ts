import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probe, probeHere, trialKernel } from './probe.ts';

/** In the long form each is tried whole: by a `pith` of its own. */
const isLong = process.env['PITH_TEST_LONG'] === '1';
let test: TestKernel;
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
const KILLED = "process.kill(process.pid, 'SIGKILL');";
const HEAP = 'const all = []; for (;;) all.push(new Array(100000).fill(1.5));';

interface Hostile {
  readonly provides: string;
  readonly main: string;
  /** Which check says so. */
  readonly check: string;
}

async function wholeTrial(files: Readonly<Record<string, string>>) {
  const folder = path.join(test.sandbox, '.staging', 'extensions', 'hostile');
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  return probe(test, folder);
}

/** A process of its own for the extension, in either form: what it does to that costs the kernel of the trial nothing. */
async function isTold({ provides, main, check }: Hostile, isWhole = isLong) {
  const files = { 'manifest.yaml': `id: hostile\nentrypoint: main.ts\nprovides: [${provides}]\n`, 'main.ts': main };
  const { findings } = isWhole ? await wholeTrial(files) : await probeHere('hostile', files, 'process');
  const errors = findings.filter(({ severity }) => severity === 'error');
  expect(errors).toContainEqual(expect.objectContaining({ check, message: expect.stringMatching(/./) }));
  expect(test.kernel.host.extensions.ids()).not.toContain('hostile');
}

describe('what is loaded for trial', () => {
  it('K72 K10 is told, and costs nobody anything, when a whole trial kills itself in a tool', () =>
    isTold({ provides: 'tool', main: tool(KILLED), check: 'smoke' }, true));

  it.each([
    ['loops for ever in getContext', 'context', context(FOREVER), 'smoke'],
    ['answers no more in a tool', 'tool', tool(DEAF), 'smoke'],
    ['ends its process in getContext', 'context', context('process.exit(0);'), 'smoke'],
    ['fills the heap in getContext', 'context', context(HEAP), 'smoke'],
    ['kills itself in a tool', 'tool', tool(KILLED), 'smoke'],
    ['floods its output in a tool', 'tool', tool("for (;;) fs.writeSync(1, 'x'.repeat(100000));"), 'smoke'],
    ['ends its process when it is constructed', 'tool', tool('return 1;', 'process.exit(0);'), 'load'],
    ['fills the heap when it is constructed', 'tool', tool('return 1;', HEAP), 'load'],
    ['ends its process when it is imported', 'tool', `process.exit(3);\n${tool('return 1;')}`, 'load'],
    ['imports the kernel', 'tool', `import '../../core/kernel.ts';\n${tool('return 1;')}`, 'imports'],
  ])('K72 K10 is told, and costs nobody anything, when it %s', (_what, provides, main, check) => isTold({ provides, main, check }));
});
