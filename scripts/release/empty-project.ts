// A project outside of the repository in which the package is installed, and programs that run there as a person would run them.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { failed } from './report.ts';

const run = promisify(execFile);

/** Takes the network away from a program, where the system lets everybody do that. */
const WITHOUT_NETWORK = ['unshare', '--map-root-user', '--net'];

export interface EmptyProject extends AsyncDisposable {
  readonly folder: string;
  /** Where the package is installed. */
  readonly installed: string;
  npm(...argv: readonly string[]): Promise<void>;
  /** Runs a program of Node with no more of the environment than it needs. Returns what it prints. */
  node(argv: readonly string[], how?: { readonly node?: string; readonly input?: string; readonly isOffline?: boolean }): Promise<string>;
  write(name: string, text: string): Promise<void>;
}

export async function emptyProject(): Promise<EmptyProject> {
  const place = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-release-')));
  const [folder, home] = [path.join(place, 'project'), path.join(place, 'home')];
  for (const made of [folder, home]) await mkdir(made);
  const write = (name: string, text: string) => writeFile(path.join(folder, name), text);
  await write('package.json', '{ "private": true, "type": "module" }\n');
  const env = { PATH: process.env['PATH'], HOME: home, NO_COLOR: '1', PITH_TRUST: '1', PITH_MODEL: 'offline/librarian' };

  return {
    folder,
    installed: path.join(folder, 'node_modules/pith'),
    write,
    npm: async (...argv) => void (await ended(run('npm', [...argv, '--no-audit', '--no-fund'], { cwd: folder }), `npm ${argv[0]}`)),
    node(argv, { node = process.execPath, input = '', isOffline = false } = {}) {
      const [program = node, ...rest] = [...(isOffline ? WITHOUT_NETWORK : []), node, ...argv];
      const running = run(program, rest, { cwd: folder, env, timeout: 120_000, maxBuffer: 1 << 26 });
      running.child.stdin?.end(input);
      return ended(running, argv.map((part) => path.basename(part)).join(' '));
    },
    [Symbol.asyncDispose]: () => rm(place, { recursive: true, force: true, maxRetries: 3 }),
  };
}

export async function canTakeNetwork(): Promise<boolean> {
  const [program = '', ...argv] = WITHOUT_NETWORK;
  return run(program, [...argv, 'true']).then(
    () => true,
    () => false, // no such program, or not allowed
  );
}

async function ended(running: Promise<{ readonly stdout: string }>, what: string): Promise<string> {
  try {
    return (await running).stdout;
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as { stdout?: string; stderr?: string; message: string };
    const said = `${stdout}${stderr}`.trim().split('\n').slice(-20).join('\n  ');
    throw failed(`'${what}' ended with an error:\n  ${said || message}\n `, 'what it printed says why');
  }
}
