import type { ConfinedProgram, ConfinedPrograms } from '@pith/supervised-process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { messageOf } from 'pith';

/** Where a script is made into JavaScript, and what holds the program that does it. */
export interface ScriptPlace {
  /** The copy of the skill. */
  readonly copy: string;
  /** Where the script sees it. */
  readonly at: string;
  readonly isConfined: boolean;
  /** What ships with Pith, and esbuild with it. */
  readonly shippedSandbox: string;
  readonly timeoutMs: number;
}

/**
 * One module of JavaScript beside the script in the copy, from it and what it imports of its skill; or why there is none. It is made where
 * the script will run: imports, patterns of imports and source maps find nothing there that the script could not read.
 */
export async function bundleScript(
  confined: ConfinedPrograms,
  script: string,
  { copy, at, isConfined, shippedSandbox, timeoutMs }: ScriptPlace,
  signal: AbortSignal,
): Promise<{ readonly file: string } | { readonly why: string }> {
  const compiler = compilerPath(shippedSandbox);
  if (compiler === null) return { why: 'esbuild, which makes JavaScript of it, is not installed for this system' };
  const file = path.posix.join(path.posix.dirname(script), `.${path.posix.basename(script)}.mjs`);
  const program: ConfinedProgram = {
    argv: [compiler, `./${script}`, `--outfile=${file}`, ...OPTIONS],
    cwd: at,
    readOnly: isConfined ? [compiler] : [],
    writable: isConfined ? [{ from: copy, at }] : [],
    timeoutMs,
    maxOutputBytes: MOST_OUTPUT,
    sandbox: isConfined ? 'required' : 'none',
  };
  try {
    const { exit, stderr, stopped } = await confined.run(program, signal);
    return exit === 0 ? { file } : { why: (stopped ?? stderr.trim()).replaceAll(`${copy}/`, '').slice(0, 2000) };
  } catch (error) {
    return { why: messageOf(error) };
  }
}

const OPTIONS = [
  '--bundle',
  '--format=esm',
  '--platform=node',
  '--target=node20',
  '--packages=external',
  '--sourcemap=inline',
  '--tsconfig-raw={}',
  '--log-level=error',
  '--log-limit=5',
  '--color=false',
];
const MOST_OUTPUT = 256 * 1024;

/** The program of esbuild that its package brings for this system. */
function compilerPath(shippedSandbox: string): string | null {
  const program = process.platform === 'win32' ? 'esbuild.exe' : 'bin/esbuild';
  try {
    const library = createRequire(path.join(shippedSandbox, 'package.json')).resolve('esbuild');
    return createRequire(library).resolve(`@esbuild/${process.platform}-${process.arch}/${program}`);
  } catch {
    return null; // its package has no program for this system
  }
}
