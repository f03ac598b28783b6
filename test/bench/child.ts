import { execFile, spawn } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** What one process cost. */
export interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMb: number;
}

export const repository = process.env['PITH_REPOSITORY'] ?? process.cwd();

/** The command as a person has it who installed the packed package: a checkout looks after its build at every start. */
export async function packedPith(folder: string): Promise<string> {
  const run = promisify(execFile);
  const { stdout } = await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: repository });
  const place = path.join(folder, 'node_modules', 'pith');
  await mkdir(place, { recursive: true });
  await run('tar', ['-xzf', path.join(folder, stdout.trim()), '-C', place, '--strip-components', '1']);
  await symlink(path.join(repository, 'node_modules'), path.join(place, 'node_modules'));
  return path.join(place, 'bin', 'pith');
}

/** Tells its use of resources on descriptor 3 at the end. Every process that is compared loads it. */
const TELL = `process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  require('node:fs').writeSync(3, (userCPUTime + systemCPUTime) / 1000 + ' ' + maxRSS / 1024);
});`;

export async function teller(folder: string): Promise<string> {
  const file = path.join(folder, 'tell.cjs');
  await writeFile(file, TELL);
  return file;
}

/** Runs Node once. Rejects when it fails. */
export function costOf(tell: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Cost> {
  return new Promise((resolve, reject) => {
    const from = performance.now();
    const child = spawn(process.execPath, ['--require', tell, ...args], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    });
    let told = '';
    let error = '';
    child.stdio[3]?.on('data', (bytes: Buffer) => (told += bytes.toString()));
    child.stderr?.on('data', (bytes: Buffer) => (error += bytes.toString()));
    let wallMs = 0;
    child.on('exit', () => (wallMs = performance.now() - from));
    child.on('close', (code) => {
      if (code !== 0) return reject(new Error(`node ${args.join(' ')} ended with ${code}: ${error}`));
      const [cpuMs = NaN, peakMb = NaN] = told.split(' ').map(Number);
      resolve({ wallMs, cpuMs, peakMb });
    });
  });
}
