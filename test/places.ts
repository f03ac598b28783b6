/** Folders and kernels that end with the test that makes them. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { testKernel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { onTestFinished } from 'vitest';

/** A temporary folder with `files`. Its real path. */
export function folderWith(files: Readonly<Record<string, string>> = {}): string {
  const directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pith-test-')));
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true, maxRetries: 3 }));
  writeFiles(directory, files);
  return directory;
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
