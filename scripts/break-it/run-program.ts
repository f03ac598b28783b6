import { spawn } from 'node:child_process';

const LONGEST_MS = 300_000;

export interface Ended {
  readonly code: number | null;
  /** All that it printed. */
  readonly said: string;
}

/** How a Node program ended. It ends with its whole group when `signal` aborts or when it takes too long, which rejects. */
export function runProgram(folder: string, argv: readonly string[], signal: AbortSignal): Promise<Ended> {
  signal.throwIfAborted();
  const { PITH_TEST_LONG: _, ...env } = process.env;
  const child = spawn(process.execPath, argv, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return new Promise((resolve, reject) => {
    const end = (why: Error): void => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
      reject(why);
    };
    const onAbort = (): void => end(signal.reason as Error);
    const timer = setTimeout(
      () => end(new Error(`${argv.join(' ')} took longer than ${LONGEST_MS / 1000} s: ${said.slice(-2000)}`)),
      LONGEST_MS,
    );
    signal.addEventListener('abort', onAbort);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve({ code, said });
    });
  });
}
