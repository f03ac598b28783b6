import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const MEMORY = '/dev/shm';
const LEAST_BYTES = 4 * 1024 ** 3;

/** The folder for what most tests write, in memory where there is room for it and programs may run: on a disk they wait a tenth of their time. Made once in a run. */
export function folderInMemory(): string {
  return (process.env['PITH_TEST_MEMORY'] ??= made());
}

function made(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < LEAST_BYTES) return os.tmpdir();
    const folder = mkdtempSync(path.join(MEMORY, 'pith-'));
    chmodSync(folder, 0o1777); // as that of the system: tests run as other users, too
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    const program = path.join(folder, 'program');
    writeFileSync(program, '', { mode: 0o700 });
    accessSync(program, constants.X_OK);
    return folder;
  } catch {
    return os.tmpdir(); // there is none, or nothing may be written or run in it
  }
}

/** One folder for the homes of all test processes: a worker is killed, and removes nothing. */
export function setup(): () => void {
  const homes = mkdtempSync(path.join(os.tmpdir(), 'pith-test-homes-'));
  process.env['PITH_TEST_HOMES'] = homes;
  return () => rmSync(homes, { recursive: true, force: true });
}
