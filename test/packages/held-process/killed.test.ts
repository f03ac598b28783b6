import { spawn } from 'node:child_process';
import { build } from 'esbuild';
import path from 'node:path';
import { expect, it } from 'vitest';
import { probeSandboxing } from '@pith/held-process';
import { runs } from '../../core/process/hosts.ts';
import { until } from '../../waiting.ts';
import { folderWith, onDisk } from '../../places.ts';

onDisk();

const { available } = await probeSandboxing();
const KINDS = [...(available ? ['required'] : []), 'none'];

it.skipIf(process.platform !== 'linux').each(KINDS)('S73 nothing is left when Pith itself is killed: sandbox %s', async (sandbox) => {
  const folder = folderWith();
  const outfile = path.join(folder, 'kernel.mjs');
  const entryPoints = [path.resolve('test/packages/held-process/fixtures/kernel.ts')];
  await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node', target: 'node20', logLevel: 'silent' });
  const nap = `81.${process.pid}`;
  const script = `(setsid sleep ${nap} &) & sleep ${nap}`;
  const program = { argv: ['/bin/sh', '-c', script], cwd: '/tmp', readOnly: [], timeoutMs: 60_000, maxOutputBytes: 100, sandbox };
  const kernel = spawn(process.execPath, [outfile, JSON.stringify({ dataDirectory: folder, program })], { stdio: 'inherit' });
  await until(() => runs(nap), 20_000);
  kernel.kill('SIGKILL');
  await until(() => !runs(nap), 20_000);
  expect(runs(nap)).toBe(false);
});
