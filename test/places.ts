/** Folders, kernels and servers that end with the test that makes them. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { testKernel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { onTestFinished, vi } from 'vitest';

/** A temporary folder with `files`. Its real path. */
export function folderWith(files: Readonly<Record<string, string>> = {}): string {
  const directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pith-test-')));
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true, maxRetries: 3 }));
  writeFiles(directory, files);
  return directory;
}

/** To be said at the top of a file about confined processes: they have a `/dev` of their own, without the folder in memory in which other tests write. */
export function onDisk(): void {
  vi.stubEnv('TMPDIR', undefined);
}

export function writeFiles(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
    fs.writeFileSync(path.join(directory, name), content);
  }
}

export async function kernelOf(options: TestKernelOptions = {}): Promise<TestKernel> {
  const kernel = await testKernel(options);
  onTestFinished(() => kernel.stop());
  return kernel;
}

/** The address of a server on this machine that answers so. */
export async function serverOf(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The lock that a dead process left on a place, as `OneAtATime` names it: whoever waits for its turn takes it away. */
export function lockOfDead(locks: string, place: string): string {
  const lock = path.join(locks, `${createHash('sha256').update(place).digest('hex').slice(0, 32)}.lock`);
  fs.mkdirSync(lock, { recursive: true });
  fs.utimesSync(lock, 1, 1);
  return lock;
}
