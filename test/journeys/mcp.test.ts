import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { projectFolder, startPith, type Folder, type PithProcess } from './pith-process.ts';

let folder: Folder;
let chat: PithProcess | undefined;
afterEach(async () => {
  chat?.child.kill('SIGKILL');
  await chat?.ended;
  await folder.remove();
});

/** How many processes have this word among their arguments. */
function runs(word: string): number {
  return pidsOf(word).length;
}
function pidsOf(word: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => /^\d+$/u.test(pid) && argumentsOf(pid).includes(word));
}
function argumentsOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // it has ended
  }
}

const SERVER = path.resolve('test/fixtures/mcp-server.mjs');
/** A server that stays when its input ends, with a child in a session of its own. */
const STUBBORN = `
import { spawn } from 'node:child_process';
spawn('sleep', ['71.5'], { stdio: 'ignore', detached: true });
process.on('SIGTERM', () => undefined);
setInterval(() => undefined, 1000);
await import(${JSON.stringify(SERVER)});
`;

/** Clears its environment, so that nothing is found by it, and leaves a child that has left its session and its parent. */
const HIDING = `
import { spawnSync } from 'node:child_process';
spawnSync('env', ['-i', '/bin/sh', '-c', 'setsid sleep 72.5 </dev/null >/dev/null 2>&1 &'], { env: {} });
process.on('SIGTERM', () => undefined);
setInterval(() => undefined, 1000);
await import(${JSON.stringify(SERVER)});
`;
const namespaces = spawnSync('bwrap', ['--dev-bind', '/', '/', '--unshare-pid', '--', 'true']).status === 0;
const signals = spawnSync('setpriv', ['--pdeathsig', 'KILL', '--', 'true']).status === 0;

describe.runIf(existsSync('/proc'))('servers that Pith starts', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)('K95 end with Pith, and what they started too: %s', async (signal) => {
    const servers = { stubborn: { command: process.execPath, args: ['--input-type=module', '-e', STUBBORN, 'stubborn-server'] } };
    folder = await projectFolder({ 'pith.yaml': JSON.stringify({ extensions: { mcp: { servers } } }) });
    chat = startPith(['chat', '--lines'], { cwd: folder.path, input: null });
    await expect.poll(() => [runs('stubborn-server'), runs('71.5')]).not.toContain(0);
    chat.child.kill(signal);
    await chat.ended;
    await expect.poll(() => [runs('stubborn-server'), runs('71.5')]).toEqual([0, 0]);
  });

  it.runIf(namespaces || signals)(
    'T20 F23: a server that clears its environment ends with Pith, with bubblewrap also what it started and hid',
    async () => {
      const servers = { hiding: { command: 'env', args: ['-i', process.execPath, '--input-type=module', '-e', HIDING, 'hiding-server'] } };
      folder = await projectFolder({ 'pith.yaml': JSON.stringify({ extensions: { mcp: { servers } } }) });
      chat = startPith(['chat', '--lines'], { cwd: folder.path, input: null });
      const running = () => [runs('hiding-server') > 0, runs('72.5') > 0];
      await expect.poll(running).toEqual([true, true]);
      const left = pidsOf('72.5');
      chat.child.kill('SIGKILL');
      await chat.ended;
      await expect.poll(() => [runs('hiding-server') > 0, namespaces && runs('72.5') > 0]).toEqual([false, false]);
      if (!namespaces) for (const pid of left) process.kill(Number(pid), 'SIGKILL'); // what does not hold: see docs/mcp.md
    },
  );
});
