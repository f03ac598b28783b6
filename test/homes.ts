import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const MEMORY = '/dev/shm';
const LEAST_BYTES = 4 * 1024 ** 3;

/** The folder for what most tests write, in memory where there is room for it: on a disk they wait a tenth of their time. */
export function folderInMemory(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize >= LEAST_BYTES) return path.join(MEMORY, `pith-tests-${process.pid}`);
  } catch {
    // no such folder here
  }
  return os.tmpdir();
}

/** One folder for the homes of all test processes: a worker is killed, and removes nothing. */
export function setup(): () => void {
  const memory = folderInMemory();
  mkdirSync(memory, { recursive: true });
  const homes = mkdtempSync(path.join(os.tmpdir(), 'pith-test-homes-'));
  process.env['PITH_TEST_HOMES'] = homes;
  return () => {
    for (const folder of memory === os.tmpdir() ? [homes] : [homes, memory]) rmSync(folder, { recursive: true, force: true });
  };
}
