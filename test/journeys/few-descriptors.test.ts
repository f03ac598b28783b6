import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectFolder, runPith, type Folder } from './pith-process.ts';
import { toolExtension } from './sandbox-files.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await projectFolder(toolExtension('hi', 'hi', "'hi'"));
  await writeFile(path.join(folder.path, 'hog.cjs'), HOG);
});
afterAll(() => folder.remove());

/** Leaves `LEFT` descriptors to each process that is started: the command itself needs more to be loaded. */
const HOG = `
const [fs, processes] = [require('node:fs'), require('node:child_process')];
const { spawn } = processes;
processes.spawn = (...given) => {
  if (given[0].includes('esbuild')) return spawn(...given); // it ends the process where it cannot be started
  const held = [];
  try { for (;;) held.push(fs.openSync('/dev/null')); } catch {}
  for (const one of held.splice(0, Number(process.env.LEFT))) fs.closeSync(one);
  try { return spawn(...given); } finally { for (const one of held) fs.closeSync(one); }
};
require('node:module').syncBuiltinESMExports();`;

const doctor = (left: number) =>
  runPith(['doctor'], {
    cwd: folder.path,
    descriptors: 256,
    env: { NODE_OPTIONS: `--require ${path.join(folder.path, 'hog.cjs')}`, LEFT: String(left) },
  });

it.skipIf(process.platform === 'win32')(
  'T12 F16: without descriptors for a process, doctor says what could not be started; with them all is well again',
  async () => {
    const told: string[] = [];
    for (const left of [0, 1, 3, 5]) {
      const { code, out, err } = await doctor(left);
      expect(code).toBe(1);
      expect(out + err).not.toMatch(/^\s+at |node:internal|Unhandled/m);
      told.push(out + err);
    }
    expect(told.filter((text) => /process_not_started|could not be started/.test(text)).length).toBeGreaterThan(2);
    expect(await doctor(200)).toMatchObject({ code: 0, out: expect.stringMatching(/hi +active/) });
  },
  120_000,
);
