/** A disk of its own for a folder, which a test can fill. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import os from 'node:os';

const LIMIT_MS = 120_000;

/** Only root may mount one. */
export function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  return spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', os.tmpdir()], { timeout: LIMIT_MS }).status === 0;
}

/** Returns what takes it away again, with all that is on it. */
export function mountDisk(folder: string): () => void {
  mount('mount', '-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', folder);
  return () => mount('umount', '--lazy', folder);
}

function mount(command: 'mount' | 'umount', ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: LIMIT_MS });
  if (status !== 0) throw new Error(stderr);
}

/** Writes pages into `file` until the disk takes no more, then gives so many KiB back. */
export function takeAllBut(left: number, file: string): void {
  const page = Buffer.alloc(4096);
  const give = `${file}.give`;
  const handle = openSync(give, 'w');
  for (let written = 0; written < left; written += 4) writeSync(handle, page);
  closeSync(handle);
  const rest = openSync(file, 'w');
  try {
    for (;;) writeSync(rest, page);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(rest);
  }
  rmSync(give);
}
