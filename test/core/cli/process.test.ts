import { build } from 'esbuild';
import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder: string;
let program: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'pith-process-'));
  await mkdir(path.join(folder, 'dist'));
  program = path.join(folder, 'dist', 'program.mjs');
  await build({
    entryPoints: [path.resolve('test/core/cli/fixtures/process.ts')],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    banner: { js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);" },
    logLevel: 'silent',
  });
  await mkdir(path.join(folder, 'bin'));
  for (const file of ['bin/pith', 'bin/package.json', 'package.json']) await copyFile(path.resolve(file), path.join(folder, file));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly killedBy: string | null;
  readonly out: string;
  readonly err: string;
}

function start(file: string, ...argv: string[]) {
  const child = spawn(process.execPath, [file, ...argv], { cwd: folder, stdio: 'pipe' });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  const ended = new Promise<Ended>((resolve) => child.on('close', (code, killedBy) => resolve({ code, killedBy, out, err })));
  const prints = async (text: string) => {
    await expect.poll(() => out).toContain(text);
  };
  return { child, ended, prints };
}

describe('the process of a command', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('B9: %s aborts the command, stops the kernel and exits %i', async (signal, code) => {
    const { child, ended, prints } = start(program, 'wait');
    await prints('waiting');
    child.kill(signal);
    expect(await ended).toEqual({ code, killedBy: null, out: 'waiting\n', err: 'stopped\n' });
  });

  it('ends quietly when nobody reads on', async () => {
    const { child, ended, prints } = start(program, 'flood');
    await prints('line 1');
    child.stdout.destroy();
    expect(await ended).toMatchObject({ code: 0, killedBy: null, err: 'stopped\n' });
  });

  it('keeps what extensions print out of what the command says', async () => {
    expect(await start(program, 'chatty').ended).toMatchObject({ code: 0, out: 'the answer\n', err: 'said aside\nsaid too\nstopped\n' });
  });

  it('reads lines that are piped in until they end', async () => {
    const { child, ended } = start(program, 'echo');
    child.stdin.end('one\ntwo');
    expect(await ended).toMatchObject({ code: 0, out: 'one\ntwo\n' });
  });
});

describe('bin/pith', () => {
  const pith = () => path.join(folder, 'bin', 'pith');
  const builds = async (main: string) => {
    await mkdir(path.join(folder, 'dist', 'newest'), { recursive: true });
    await writeFile(path.join(folder, 'dist', 'newest', 'main.mjs'), main);
    await writeFile(path.join(folder, 'dist', 'build.json'), '{"build":"newest"}');
  };

  it('says how to build it when dist is missing', async () => {
    expect(await start(pith(), 'doctor').ended).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^pith: the command is not built: .*build\.json is missing; run `npm run build` in /u),
    });
  });

  it('K6 answers --version and -V from package.json before it imports anything', async () => {
    await builds("throw new Error('imported');");
    for (const argument of ['--version', '-V'])
      expect(await start(pith(), argument).ended).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/u), err: '' });
  });

  it('hands over to the newest build', async () => {
    await builds("export const main = () => process.stdout.write(process.argv.slice(2).join(' '));");
    expect(await start(pith(), 'doctor', '--version').ended).toMatchObject({ code: 0, out: 'doctor --version' });
  });
});
