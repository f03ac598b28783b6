import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const PITH = path.resolve('bin/pith');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface PithProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
  /** What it has printed until now. */
  out(): string;
}

export interface PithOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Written to its input, which then ends; null leaves it open. */
  readonly input?: string | null;
  /** How many files it may have open. */
  readonly descriptors?: number;
  /** It is the head of a group of processes, to which signals may go. */
  readonly ownGroup?: boolean;
}

/** The `pith` command as a child process on pipes, with nothing of this process's environment but the path. The sandbox is trusted, unless `env` says PITH_TRUST: '0'. */
export function startPith(argv: readonly string[], { cwd, env = {}, input = '', descriptors, ownGroup = false }: PithOptions): PithProcess {
  if (!existsSync(path.resolve('dist/build.json'))) throw new Error('dist/build.json is missing; run `npm run build` first');
  const [program, before] =
    descriptors === undefined ? [process.execPath, []] : ['/bin/sh', ['-c', `ulimit -n ${descriptors}; exec "$0" "$@"`, process.execPath]];
  const child = spawn(program, [...before, PITH, ...argv], {
    cwd,
    stdio: 'pipe',
    detached: ownGroup,
    env: { PATH: process.env['PATH'], HOME: cwd, PITH_TRUST: '1', ...env },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  child.stdin.on('error', () => undefined); // it may end before it has read everything
  const ended = new Promise<Ended>((resolve) => child.on('close', (code, signal) => resolve({ code, signal, out, err })));
  if (input !== null) child.stdin.end(input);
  return { child, ended, out: () => out };
}

export function runPith(argv: readonly string[], options: PithOptions): Promise<Ended> {
  return startPith(argv, options).ended;
}

export interface Folder {
  /** The project; also HOME and the working directory of its processes. */
  readonly path: string;
  readonly sandbox: string;
  remove(): Promise<void>;
}

/** A temporary project with a sandbox of these files. */
export async function projectFolder(files: Readonly<Record<string, string>> = {}): Promise<Folder> {
  const folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-journey-')));
  const sandbox = path.join(folder, 'sandbox');
  await mkdir(sandbox);
  await putFiles(sandbox, files);
  return { path: folder, sandbox, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) };
}

export async function putFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), content);
  }
}

/** Every byte below a folder. Passes over a file that goes meanwhile, as those beside a database do when it is closed. */
export async function allOf(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const unlessGone = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return '';
  };
  return (await Promise.all(files.map((file) => readFile(file, 'latin1').catch(unlessGone)))).join('\n');
}

export const linesOf = (text: string): readonly Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
