import { spawn, type ChildProcess } from 'node:child_process';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';

/** Bundles a program, named as this folder reaches it, into `folder` and returns the file that `node` can run. */
export async function bundleProgram(name: string, folder: string): Promise<string> {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const outfile = join(folder, `${basename(name)}.mjs`);
  await build({
    entryPoints: [join(here, `${name}.ts`)],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile,
    logLevel: 'error',
    // the driver is found from the project, not from the temporary folder
    define: { 'import.meta.url': JSON.stringify(import.meta.url) },
  });
  return outfile;
}

/** The same for a program whose text imports by absolute paths and `pith`. */
export async function bundleText(text: string, folder: string): Promise<string> {
  const outfile = join(folder, 'program.cjs');
  await build({
    stdin: { contents: text, resolveDir: process.cwd(), loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'error',
    alias: { pith: resolve('core/contract/index.ts'), 'pith/skill_registry': resolve('sandbox/extensions/skill_registry/contract.ts') },
  });
  return outfile;
}

/** Starts a program that ends with the test at the latest. */
export function startProgram(file: string, ...parameters: string[]): ChildProcess {
  const child = spawn(process.execPath, [file, ...parameters], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

export function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('close', resolve));
}
