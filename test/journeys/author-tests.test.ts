import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { pithHere } from './pith-here.ts';
import { putFiles } from './pith-process.ts';
import { ownFolder } from './until-test-ends.ts';

const run = promisify(execFile);
/** Each has a test of its kind; the others have that of `model`. */
const KINDS = ['tool', 'context', 'model'];

/** Whole files that a page shows, by path. */
async function filesIn(page: string): Promise<Record<string, string>> {
  const text = await readFile(page, 'utf8');
  return Object.fromEntries(
    [...text.matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```/gm)].map(([, file = '', content = '']) => [file, content]),
  );
}

it('U49 in a new project the tests of `pith init`, of `pith extensions new` and of the pages pass and have the right types, by vitest itself', async () => {
  const { path: base } = await ownFolder();
  const cwd = path.join(base, 'mine');
  expect(await pithHere(['init', 'mine'], { cwd: base })).toMatchObject({ code: 0 });
  await mkdir(path.join(cwd, 'node_modules'));
  await symlink(path.resolve('.'), path.join(cwd, 'node_modules/pith'));
  await symlink(path.resolve('node_modules/vitest'), path.join(cwd, 'node_modules/vitest'));
  for (const kind of KINDS) {
    const made = await pithHere(['extensions', 'new', `my_own_${kind}`, '--kind', kind], { cwd });
    expect(made).toMatchObject({ code: 0, out: expect.stringContaining(`npx vitest run test/my_own_${kind}.test.ts`) });
  }
  const testing = await filesIn('sandbox/skills/extension-development/references/testing.md');
  const writing = await filesIn('docs/write-an-extension.md');
  const shown = { ...testing, ...writing };
  expect(Object.keys(shown)).toEqual(expect.arrayContaining(['test/stopwatch.test.ts', 'test/dice.test.ts']));
  await putFiles(cwd, shown);

  const env = { PATH: process.env['PATH'], HOME: cwd };
  const program = async (file: string, ...args: readonly string[]): Promise<string> =>
    (await run(process.execPath, [path.resolve('node_modules', file), ...args], { cwd, env }).catch((error: { stdout: string }) => error))
      .stdout;
  const tested = await program('vitest/vitest.mjs', 'run', '--reporter=json');
  const report = JSON.parse(tested) as object;
  expect(report, tested).toMatchObject({ success: true, numPassedTests: KINDS.length + 4 });
  expect(await program('typescript-7/bin/tsc', '-p', cwd)).toBe('');
});
