import { sweepRemains, probeSandboxing } from '@pith/supervised-process';
import { spawn, type ChildProcess } from 'node:child_process';
import { build } from 'esbuild';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, it } from 'vitest';
import { hostFolder, isAlive, runs, type HostFolder } from './hosts.ts';
import { until } from '../../waiting.ts';
import { onDisk } from '../../places.ts';

onDisk();

/** Above the highest pid that there is. */
const NO_PID = 4_194_305;

const isLinux = process.platform === 'linux';
const sandboxing = await probeSandboxing();
let folder: HostFolder;
beforeEach(async () => void (folder = await hostFolder()));

const DESCENDANTS = `
  spawn('sleep', ['62.5'], { stdio: 'ignore' });
  spawn('sleep', ['62.5'], { stdio: 'ignore', detached: true });
  spawn('env', ['-i', 'sleep', '62.5'], { stdio: 'ignore' });
  spawn('sh', ['-c', 'sleep 62.5 & sleep 62.5 & wait'], { stdio: 'ignore', detached: true });
  say('started');
  for (;;);
`;

/** A process that stands for the kernel, with one host that has descendants and never looks at its socket. */
async function kernelWithHost(sandboxed: boolean): Promise<{ readonly kernel: ChildProcess; readonly host: number }> {
  const program = path.join(folder.project, 'kernel.mjs');
  const entryPoints = [path.resolve('test/core/process/fixtures/kernel.ts')];
  await build({ entryPoints, outfile: program, bundle: true, format: 'esm', platform: 'node', target: 'node20', logLevel: 'silent' });
  const spec = await folder.spec(DESCENDANTS);
  const kernel = spawn(process.execPath, [program, JSON.stringify({ ...spec, sandboxed })], { stdio: ['ignore', 'pipe', 'inherit'] });
  let host = 0;
  for await (const line of createInterface({ input: kernel.stdout })) {
    if (line.includes('started')) break;
    host = Number(line);
  }
  expect(isAlive(host) && runs('62.5')).toBe(true);
  return { kernel, host };
}

const KINDS = ['without a sandbox', ...(sandboxing.available ? ['in bubblewrap'] : [])];

describe.runIf(isLinux)('a kernel that is killed', () => {
  it.each(KINDS)('K10 leaves no descendant after two seconds: %s', async (kind) => {
    const { kernel, host } = await kernelWithHost(kind === 'in bubblewrap');
    kernel.kill('SIGKILL');
    await until(() => !isAlive(host) && !runs('62.5'), 2000);
    expect(runs('62.5')).toBe(false);
  });
});

it.runIf(isLinux)('B12: the event loop goes on while all processes of the machine are looked at', async () => {
  let turns = 0;
  let looking = true;
  const count = (): void => {
    turns += 1;
    if (looking) setImmediate(count);
  };
  setImmediate(count);
  await sweepRemains(NO_PID, 'nothing-has-this-mark', new Map());
  looking = false;
  expect(turns).toBeGreaterThan(readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length / 2);
});
