import { spawn, spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { build } from 'esbuild';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Guardian, probeSandboxing } from '@pith/supervised-process';
import { isAlive, runs } from '../../core/process/hosts.ts';
import { until } from '../../waiting.ts';
import { folderWith, onDisk } from '../../places.ts';

onDisk();

const { available } = await probeSandboxing();
// As bubblewrap is in the first milliseconds after its start: it does not yet end with Pith.
const BEGUN = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n';

it
  .skipIf(process.platform !== 'linux')
  .each([
    ...(available ? [{ holder: 'bubblewrap', sandbox: 'required', nap: `81.${process.pid}` }] : []),
    { holder: 'bubblewrap that has only begun', sandbox: 'required', nap: `82.${process.pid}`, isEarly: true },
    { holder: 'none', sandbox: 'none', nap: `83.${process.pid}` },
  ])('S73 nothing is left when Pith itself is killed: $holder', async ({ sandbox, nap, isEarly }) => {
  const folder = folderWith({ begun: BEGUN });
  chmodSync(path.join(folder, 'begun'), 0o755);
  const outfile = path.join(folder, 'kernel.mjs');
  const entryPoints = [path.resolve('test/packages/supervised-process/fixtures/kernel.ts')];
  await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node', target: 'node20', logLevel: 'silent' });
  // Nowhere a word by itself but of the two that sleep.
  const argv = ['/bin/sh', '-c', `(setsid sleep ${nap}&)& sleep ${nap};:`];
  const program = { argv, cwd: '/tmp', readOnly: [], timeoutMs: 60_000, maxOutputBytes: 100, sandbox };
  const sandboxing = isEarly ? { available: true, program: path.join(folder, 'begun') } : undefined;
  const kernel = spawn(process.execPath, [outfile, JSON.stringify({ program, sandboxing })], { stdio: 'inherit' });
  await until(() => runs(nap), 20_000);
  kernel.kill('SIGKILL');
  await until(() => !runs(nap), 20_000);
  expect(runs(nap)).toBe(false);
});

it.skipIf(process.platform !== 'linux')('S73 a guardian that follows one that was killed knows what that had to end', async () => {
  const guardian = new Guardian();
  const mark = guardian.newMark().split('-')[0]!;
  const itsPid = () => Number(spawnSync('pgrep', ['-f', `pith-guardian .* ${mark}`], { encoding: 'utf8' }).stdout.trim());
  await guardian.keep();
  const former = itsPid();
  const sleeper = spawn('/bin/sleep', ['84'], { detached: true, env: {}, stdio: 'ignore' }); // shows no mark
  guardian.watch(sleeper.pid!);
  process.kill(former, 'SIGKILL');
  await until(async () => {
    await guardian.keep();
    return ![0, former].includes(itsPid());
  }, 20_000);
  guardian.end(); // as when Pith is killed: its input ends
  await until(() => !isAlive(sleeper.pid!), 20_000);
  expect(isAlive(sleeper.pid!)).toBe(false);
});
