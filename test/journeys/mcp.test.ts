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
  return readdirSync('/proc').filter((pid) => /^\d+$/u.test(pid) && argumentsOf(pid).includes(word)).length;
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

describe.runIf(existsSync('/proc'))('servers that Pith starts', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'K95 end with Pith, and what they started too: %s',
    async (signal) => {
      const servers = { stubborn: { command: process.execPath, args: ['--input-type=module', '-e', STUBBORN, 'stubborn-server'] } };
      folder = await projectFolder({ 'pith.yaml': JSON.stringify({ extensions: { mcp: { servers } } }) });
      chat = startPith(['chat'], { cwd: folder.path, input: null });
      await expect.poll(() => [runs('stubborn-server'), runs('71.5')], { timeout: 30_000 }).toEqual([1, 1]);
      chat.child.kill(signal);
      await chat.ended;
      await expect.poll(() => [runs('stubborn-server'), runs('71.5')], { timeout: 15_000 }).toEqual([0, 0]);
    },
    60_000,
  );
});
