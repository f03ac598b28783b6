import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectFolder, runPith, type Folder } from './pith-process.ts';
import { bare, toolExtension } from './sandbox-files.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await projectFolder({ ...bare(['offline', 'recipes', 'skill_registry']), ...toolExtension('hi', 'hi', "'hi'") });
  await writeFile(path.join(folder.path, 'hog.cjs'), HOG);
});
afterAll(() => folder.remove());

/** Leaves `LEFT` descriptors to each process that is started, esbuild's too: the command itself needs more to be loaded. None for sources that end with `FULL`. */
const HOG = `
const [fs, files, processes] = [require('node:fs'), require('node:fs/promises'), require('node:child_process')];
const [{ open }, { spawn }] = [files, processes];
files.open = async (file, ...given) => {
  if (process.env.FULL && String(file).endsWith(process.env.FULL)) throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
  return open(file, ...given);
};
processes.spawn = (...given) => {
  const held = [];
  try { for (;;) held.push(fs.openSync('/dev/null')); } catch {}
  for (const one of held.splice(0, Number(process.env.LEFT))) fs.closeSync(one);
  try { return spawn(...given); } finally { for (const one of held) fs.closeSync(one); }
};
require('node:module').syncBuiltinESMExports();`;

const doctor = (left: number, full = '') =>
  runPith(['doctor', '--all'], {
    cwd: folder.path,
    descriptors: 256,
    env: { NODE_OPTIONS: `--require ${path.join(folder.path, 'hog.cjs')}`, LEFT: String(left), FULL: full },
  });

it.skipIf(process.platform === 'win32')(
  'T12 F16: without descriptors for a process, the bundler’s too, doctor says what could not be started; with them all is well again',
  async () => {
    const told: string[] = [];
    // With five and those that threads close meanwhile, a process can be started.
    for (const left of [0, 1, 2, 3]) {
      const { code, out, err } = await doctor(left);
      expect(code, `${left} left: ${out}`).toBe(1);
      expect(out + err).not.toMatch(/^\s+at |node:internal|Unhandled/m);
      told.push(out + err);
    }
    // On a busy machine it is the process that tries bubblewrap, or a file that another thread reads just then.
    for (const text of told) expect(text).toMatch(/EMFILE.*; end what is not needed, or raise the limit/);
    const notStarted = /^hi +failed .*process_not_started .*a process could not be started: .*\(EMFILE\); end what/m;
    expect(told.filter((text) => notStarted.test(text))).not.toEqual([]);
    for (const text of told) expect(text).toMatch(/^recipes +active/m);
    const unread = await doctor(200, 'hi/main.ts');
    expect(unread).toMatchObject({ code: 1, err: '' });
    expect(unread.out).toMatch(
      /^hi +failed +bundle +bundle_failed .*main\.ts: its files cannot be read now: EMFILE: too many open files; end what is not needed, or raise the limit/m,
    );
    expect(await doctor(200)).toMatchObject({ code: 0, out: expect.stringMatching(/hi +active/) });
  },
  120_000,
);
