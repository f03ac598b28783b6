import { findProgram } from '@pith/supervised-process';
import { fork, type ChildProcess } from 'node:child_process';
import { messageOf } from '../../contract/index.ts';
import { EXIT } from '../terminal/report.ts';
import type { Suspect } from './crash-policy.ts';
import { SUPERVISED } from './supervised.ts';

/** Messages of the kernel's process to its supervisor. */
export type Message =
  /** Sent before any code of an extension runs. */
  | { readonly type: 'declared'; readonly dataDirectory: string; readonly suspects: readonly Suspect[] }
  | { readonly type: 'alive' }
  /** The kernel ends because it could not start, and no extension is to blame. */
  | { readonly type: 'not started' }
  | { readonly type: 'restart'; readonly reason: string };

/** The exit code of a kernel that asks to be restarted. */
export const RESTART_EXIT = 75;

export const ALIVE_MS = 1000;

export function numberIn(env: Readonly<Record<string, string | undefined>>, name: string, otherwise: number): number {
  const value = Number(env[name]);
  return env[name] !== undefined && Number.isFinite(value) && value > 0 ? value : otherwise;
}

/** How a kernel's process ended. */
export type KernelEnd =
  | { readonly how: 'stopped' }
  | { readonly how: 'restart'; readonly reason: string }
  /** It ended by itself: on request, or because it could not start and has printed the reason. */
  | { readonly how: 'exit'; readonly code: number }
  | { readonly how: 'crash'; readonly why: string };

export interface KernelRun {
  readonly end: KernelEnd;
  /** null when the kernel ended before it sent them. */
  readonly declared: { readonly dataDirectory: string; readonly suspects: readonly Suspect[] } | null;
}

/** Exit codes of a kernel that somebody asked to end. */
export const ASKED_TO_END: readonly number[] = [EXIT.done, EXIT.hungUp, EXIT.interrupted, EXIT.terminated];

/** A kernel that sends nothing for this long hangs. */
const SILENCE_MS = 15_000;
/** How long it may take to end on request; the supervisor's own limit is ten seconds. */
const STOP_MS = 9000;

/** Runs the same command line as a kernel under this process, until it ends or `signal` ends it. */
export function runKernel(env: Readonly<Record<string, string | undefined>>, signal: AbortSignal): Promise<KernelRun> {
  const [program, ...words] = process.argv.slice(1) as [string, ...string[]];
  // The program that ends a child with its parent, if there is one; elsewhere the child notices by its channel.
  const guard = process.platform === 'linux' ? findProgram('setpriv') : null;
  let child: ChildProcess;
  try {
    child = fork(program, words, {
      env: { ...env, [SUPERVISED]: '1' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      ...(guard === null ? {} : { execPath: guard, execArgv: ['--pdeathsig', 'KILL', '--', process.execPath, ...process.execArgv] }),
    });
  } catch (error) {
    return Promise.resolve({ end: { how: 'crash', why: messageOf(error) }, declared: null }); // out of memory: Node reports any other failure as an event
  }
  return new Promise((resolve) => {
    let declared: KernelRun['declared'] = null;
    let reason = '';
    let couldNotStart = false;
    let hung = false;
    let killing: NodeJS.Timeout | undefined;
    let silence = waitInSilence();

    function waitInSilence(): NodeJS.Timeout {
      return setTimeout(
        () => {
          hung = true;
          child.kill('SIGKILL');
        },
        numberIn(env, 'PITH_SERVE_SILENCE_MS', SILENCE_MS),
      );
    }
    const stop = (): void => {
      child.kill('SIGTERM');
      killing ??= setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    };
    const end = (how: KernelEnd): void => {
      clearTimeout(silence);
      clearTimeout(killing);
      signal.removeEventListener('abort', stop);
      resolve({ end: signal.aborted ? { how: 'stopped' } : how, declared });
    };

    child.on('message', (message: Message) => {
      clearTimeout(silence);
      silence = waitInSilence();
      if (message.type === 'declared') declared = { dataDirectory: message.dataDirectory, suspects: message.suspects };
      else if (message.type === 'not started') couldNotStart = true;
      else if (message.type === 'restart') ({ reason } = message);
    });
    child.on('error', (error) => end({ how: 'crash', why: error.message }));
    child.on('exit', (code, killed) => {
      if (code === RESTART_EXIT) end({ how: 'restart', reason });
      else if (hung) end({ how: 'crash', why: 'it stopped answering' });
      else if (code !== null && (ASKED_TO_END.includes(code) || couldNotStart || declared === null)) end({ how: 'exit', code });
      else end({ how: 'crash', why: killed === null ? `exit code ${code}` : `ended by ${killed}` });
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
