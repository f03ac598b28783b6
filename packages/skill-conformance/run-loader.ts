import type { Readable } from 'node:stream';
import { endOf, startProcess } from '@pith/supervised-process';
import { elapsed, systemClock } from '@pith/promises';

/** How a loader is started, once for each case. */
export interface LoaderCommand {
  /** `{dir}` is replaced by the folder of skills, `{root}` by the one above it; without either, the folder of skills is appended. */
  readonly argv: readonly string[];
  /** Its working folder, with the same placeholders; relative to the person's. */
  readonly cwd: string;
  readonly timeoutMs: number;
}

/** The outcome of one run. */
export interface LoaderRun {
  readonly end: 'ended' | 'hung' | 'flooded';
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  /** The end of its error output. */
  readonly stderr: string;
  readonly ms: number;
}

const MOST_PRINTED = 16 * 1024 * 1024;
const LAST_WORDS = 2000;

/** Runs the loader once on one root. Kills its process group when the time is up. Rejects on abort, or where it cannot be started. */
export async function runLoader(command: LoaderCommand, root: string, signal?: AbortSignal): Promise<LoaderRun> {
  signal?.throwIfAborted();
  const started = elapsed();
  const child = await startProcess(wordsFor(command.argv, root), {
    cwd: placed(command.cwd, root),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32', // a process group of its own, so that all of it can be killed
  });
  const kill = () => endGroup(child.pid);
  signal?.addEventListener('abort', kill, { once: true });
  let end: LoaderRun['end'] = 'ended';
  const cancel = systemClock.after(command.timeoutMs, () => {
    end = 'hung';
    kill();
  });
  const stdout: Buffer[] = [];
  let stderr = '';
  let printed = 0;
  (child.stdout as Readable).on('data', (chunk: Buffer) => {
    printed += chunk.length;
    if (printed <= MOST_PRINTED) return void stdout.push(chunk);
    end = 'flooded';
    kill();
  });
  (child.stderr as Readable).setEncoding('utf8').on('data', (text: string) => void (stderr = (stderr + text).slice(-LAST_WORDS)));
  const { code, signal: by } = await endOf(child);
  cancel();
  signal?.removeEventListener('abort', kill);
  endGroup(child.pid);
  signal?.throwIfAborted();
  return { end, code, signal: by, stdout: Buffer.concat(stdout).toString('utf8'), stderr, ms: Math.round(elapsed() - started) };
}

function wordsFor(argv: readonly string[], root: string): readonly string[] {
  const isNamed = argv.some((word) => word.includes('{dir}') || word.includes('{root}'));
  return (isNamed ? argv : [...argv, '{dir}']).map((word) => placed(word, root));
}

function placed(word: string, root: string): string {
  return word.replaceAll('{dir}', () => `${root}/skills`).replaceAll('{root}', () => root);
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // The loader has ended, and all that it started.
  }
}
