/** Processes of extensions alone, started with the code that a test gives: what no kernel would start. */
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { launchHost } from '../../../core/process/index.ts';
import { folderWith } from '../../places.ts';

type LaunchSpec = Parameters<typeof launchHost>[0];
type HostProcess = Awaited<ReturnType<typeof launchHost>>;

/** A project with one extension, whose process runs the code that a test gives. */
export interface HostFolder {
  readonly project: string;
  readonly sandbox: string;
  readonly data: string;
  readonly lines: string[];
  /** What can be told in JSON of how a process with this code is started. */
  spec(code: string): Promise<Omit<LaunchSpec, 'output'>>;
  launch(code: string, spec?: Partial<LaunchSpec>): Promise<HostProcess>;
}

export async function hostFolder(): Promise<HostFolder> {
  const project = folderWith();
  const sandbox = path.join(project, 'sandbox');
  const directory = path.join(sandbox, 'extensions', 'mine');
  const data = path.join(sandbox, 'data');
  await mkdir(directory, { recursive: true });
  await mkdir(data);
  const lines: string[] = [];
  let count = 0;
  async function spec(code: string): Promise<Omit<LaunchSpec, 'output'>> {
    const entry = path.join(directory, `entry-${++count}.mjs`);
    await writeFile(entry, `${PRELUDE}\n${code}`);
    return {
      extensionId: 'mine',
      entry,
      directory,
      dataDirectory: path.join(data, 'mine'),
      stateDirectory: data,
      sandbox,
      packageRoot: path.resolve('.'),
      permissions: { network: false, read: [], write: [] },
      env: { PATH: process.env['PATH'] },
    };
  }
  return {
    project,
    sandbox,
    data,
    lines,
    spec,
    launch: async (code, more = {}) => launchHost({ ...(await spec(code)), output: (line) => lines.push(line), ...more }),
  };
}

/** `say(value)`: one line of JSON through descriptor 3; it stays alive for as long as that is open. */
const PRELUDE = `
import fs from 'node:fs'; import net from 'node:net'; import { spawn } from 'node:child_process';
const socket = new net.Socket({ fd: 3, readable: true, writable: true });
socket.on('data', () => {}); socket.on('close', () => process.exit(0));
const say = (value) => socket.write(JSON.stringify(value) + '\\n');
`;

/** The first line that a host says, as a value. */
export function firstWord(host: HostProcess, lines: readonly string[] = []): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let text = '';
    host.socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('\n')) resolve(JSON.parse(text.slice(0, text.indexOf('\n'))));
    });
    void host.ended.then(({ message }) => reject(new Error(`${message} before it said anything; it printed: ${lines.join('\n')}`)));
  });
}

export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', `${pid}`], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}

/** Whether a process with this word among its arguments runs. */
export function runs(word: string): boolean {
  const { stdout } = spawnSync('ps', ['-eo', 'stat=,args='], { encoding: 'utf8' });
  return stdout.split('\n').some((line) => !line.startsWith('Z') && line.split(/\s+/u).includes(word));
}

/** Ends it as the kernel ends one that it needs no more. */
export async function stopped(host: HostProcess): Promise<void> {
  host.kill({ code: 'stopped', message: 'enough' });
  await host.ended;
}
