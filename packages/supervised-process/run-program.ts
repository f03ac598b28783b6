import type { Readable, Writable } from 'node:stream';
import { systemClock } from '@pith/promises';
import { killGroup, killHost } from './process-end.ts';
import { startProcess } from './start-process.ts';
import { endOf } from './started.ts';

/** A program that is run for its output. */
export interface ProgramRun {
  readonly argv: readonly string[];
  readonly cwd?: string;
  /** Absent: this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Its standard input. */
  readonly input?: string;
  /** The limit of its standard output; more output ends the program. */
  readonly mostBytes: number;
  readonly mostMs: number;
  /** Called with its standard output as it comes. */
  readonly observe?: (output: Buffer) => void;
  readonly clock?: { after(ms: number, run: () => void): () => void };
}

export interface ProgramEnd {
  /** null: it was ended, here or by a signal. */
  readonly code: number | null;
  /** The signal that ended it. */
  readonly signal: NodeJS.Signals | null;
  /** The end of its standard error. */
  readonly errors: string;
  /** The limit that ended it. */
  readonly passed: 'bytes' | 'time' | null;
  readonly output: Buffer;
}

const MOST_ERRORS = 64 * 1024;

/**
 * All output of a program within limits of bytes and time; output from before a limit is kept. A program that exceeds one is ended with its
 * group. Rejects as `startProcess`, and with the reason of `signal`.
 */
export async function runProgram(program: ProgramRun, signal?: AbortSignal): Promise<ProgramEnd> {
  const { argv, cwd, env, input = '', mostBytes, mostMs, observe, clock = systemClock } = program;
  signal?.throwIfAborted();
  const child = await startProcess(argv, {
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // a process group of its own, so that its helpers end with it
  });
  const [stdin, stdout, stderr] = [child.stdin as Writable, child.stdout as Readable, child.stderr as Readable];
  const ended = endOf(child);
  let passed: ProgramEnd['passed'] = null;
  const end = (why: ProgramEnd['passed']): void => {
    passed ??= why;
    if (child.exitCode === null && child.signalCode === null) killHost(child.pid as number);
  };
  const onAbort = (): void => {
    end(null);
    stdout.destroy(); // a process that it started may keep it open
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort(); // aborted during the start
  const cancel = clock.after(mostMs, () => {
    end('time');
    stdout.destroy();
  });
  let errors = '';
  stderr.setEncoding('utf8').on('data', (text: string) => void (errors = (errors + text).slice(-MOST_ERRORS)));
  stdin.on('error', () => undefined); // it ended before it read all input: its exit code says why
  stdin.end(input);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    try {
      for await (const chunk of stdout as AsyncIterable<Buffer>) {
        const rest = chunk.subarray(0, mostBytes - bytes);
        bytes += rest.length;
        chunks.push(rest);
        observe?.(rest);
        if (rest.length === chunk.length) continue;
        end('bytes');
        break;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (passed === null) throw error; // otherwise we destroyed the stream because of the limit
    }
    const { code, signal: by } = await ended;
    signal?.throwIfAborted();
    return { code: passed === null ? code : null, signal: by, errors, passed, output: Buffer.concat(chunks) };
  } finally {
    cancel();
    signal?.removeEventListener('abort', onAbort);
    end(null);
    killGroup(child.pid as number); // what it left behind
    for (const stream of [stdout, stderr]) stream.destroy();
  }
}
