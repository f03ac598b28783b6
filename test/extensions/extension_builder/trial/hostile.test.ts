import path from 'node:path';
import type { TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onDisk, writeFiles } from '../../../places.ts';
import { probe, probeHere, trialKernel } from './probe.ts';

onDisk();

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
/** An endless loop; in the quick form as deaf as one, and it leaves the processor to the other tests. */
const FOREVER = isLong ? 'while (true);' : 'for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';
const KILLED = "process.kill(process.pid, 'SIGKILL');";
const HEAP = 'const all = []; for (;;) all.push(new Array(1_000_000).fill(1.5));';

let made = 0;

interface Hostile {
  readonly provides: string;
  readonly main: string;
}

async function wholeTrial(id: string, files: Readonly<Record<string, string>>) {
  const folder = path.join(test.sandbox, '.staging', 'extensions', id);
  writeFiles(folder, files);
  return probe(test, folder);
}

/** A process of its own for the extension, in either form: what it does to that costs the kernel of the trial nothing. */
async function errorsOf({ provides, main }: Hostile, isWhole = isLong) {
  const id = `hostile_${(made += 1)}`;
  const files = { 'manifest.yaml': `id: ${id}\nentrypoint: main.ts\nprovides: [${provides}]\n`, 'main.ts': main };
  const { findings } = isWhole ? await wholeTrial(id, files) : await probeHere(id, files, 'process');
  expect(test.kernel.host.extensions.ids()).not.toContain(id);
  return findings.filter(({ severity }) => severity === 'error');
}

const told = (check: string) => expect.objectContaining({ check, message: expect.stringMatching(/./) });

describe('what is loaded for trial', () => {
  it('K72 K10 is told, and costs nobody anything, when a whole trial kills itself in a tool', async () => {
    expect(await errorsOf({ provides: 'tool', main: tool(KILLED) }, true)).toContainEqual(told('smoke'));
  });

  // Both wait for the same limit.
  it.concurrent.each([
    ['loops for ever in getContext', 'context', context(FOREVER), 'smoke'],
    ['answers no more in a tool', 'tool', tool(FOREVER), 'smoke'],
  ])('K72 K10 is told, and costs nobody anything, when it %s', async (_what, provides, main, check) => {
    expect(await errorsOf({ provides, main })).toContainEqual(told(check));
  });

  it.each([
    ['ends its process in getContext', 'context', context('process.exit(0);'), 'smoke'],
    ['fills the heap in getContext', 'context', context(HEAP), 'smoke'],
    ['kills itself in a tool', 'tool', tool(KILLED), 'smoke'],
    ['floods its output in a tool', 'tool', tool("for (;;) fs.writeSync(1, 'x'.repeat(100000));"), 'smoke'],
    ['ends its process when it is constructed', 'tool', tool('return 1;', 'process.exit(0);'), 'load'],
    ['fills the heap when it is constructed', 'tool', tool('return 1;', HEAP), 'load'],
    ['ends its process when it is imported', 'tool', `process.exit(3);\n${tool('return 1;')}`, 'load'],
    ['imports the kernel', 'tool', `import '../../core/kernel.ts';\n${tool('return 1;')}`, 'imports'],
  ])('K72 K10 is told, and costs nobody anything, when it %s', async (_what, provides, main, check) => {
    expect(await errorsOf({ provides, main })).toContainEqual(told(check));
  });
});
