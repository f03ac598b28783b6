import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { existsSync } from 'node:fs';
import { codeOf, NO_ROOM } from '@pith/safe-files';

/** Code `process_not_started`, `process_ended`, `sandbox_unavailable` or `aborted`, with a cure. */
export class ProcessFailed extends Error {
  readonly cure: string | undefined;
  readonly retryable: boolean;

  constructor(
    readonly code: 'process_not_started' | 'process_ended' | 'sandbox_unavailable' | 'aborted',
    message: string,
    { cause, cure, retryable = false }: { readonly cause?: unknown; readonly cure?: string; readonly retryable?: boolean } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.cure = cure;
    this.retryable = retryable;
  }
}

/**
 * Starts a program; nothing else does. Rejects `process_not_started` where the program is missing or the system has no room (descriptors,
 * processes, memory). The child that it returns runs and has all streams of `stdio`.
 */
export async function startProcess(argv: readonly string[], options: SpawnOptions): Promise<ChildProcess> {
  const [command = '', ...args] = argv;
  let child: ChildProcess;
  try {
    child = spawn(command, args, options);
  } catch (error) {
    throw notStarted(error); // Node throws for lack of memory, and emits an event for all else
  }
  // A process that did not start may have no streams, and its error event would end Pith if nobody listened.
  const failed = new Promise<unknown>((resolve) => child.on('error', resolve));
  if (child.pid !== undefined) return child;
  const error = await failed;
  const { cwd } = options;
  if (codeOf(error) !== 'ENOENT' || cwd === undefined || existsSync(cwd)) throw notStarted(error);
  throw new ProcessFailed('process_not_started', `a process could not be started: there is no folder '${String(cwd)}' for it to run in`, {
    cause: error,
    cure: 'name a folder that exists',
  });
}

/**
 * For a library that starts a program synchronously in `start` and assumes success: rejects `process_not_started` with the reason, and
 * handles the child's error event.
 */
export async function startedByOther<T>(start: () => Promise<T>): Promise<T> {
  const made: { readonly child: ChildProcess; readonly failed: Promise<unknown> }[] = [];
  const listen = (message: unknown): void => {
    const { process: child } = message as { readonly process: ChildProcess };
    made.push({ child, failed: new Promise((resolve) => child.on('error', resolve)) });
  };
  subscribe(MADE, listen);
  try {
    const started = start();
    unsubscribe(MADE, listen); // other programs that are started meanwhile are not ours
    return await started;
  } catch (error) {
    unsubscribe(MADE, listen);
    const lost = made.find(({ child }) => child.pid === undefined);
    throw notStarted(lost === undefined ? error : await lost.failed);
  }
}

/** Node announces each child process on this channel. */
const MADE = 'child_process';

function notStarted(error: unknown): ProcessFailed {
  const code = codeOf(error);
  const why = NO_ROOM.get(code);
  const { path } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && path !== undefined)
    return new ProcessFailed('process_not_started', `a process could not be started: there is no program '${path}', or none that runs it`, {
      cause: error,
      retryable: true,
      cure: 'correct its name, or install it',
    });
  return new ProcessFailed(
    'process_not_started',
    `a process could not be started: ${why ? `${why} (${code})` : error instanceof Error ? error.message : String(error)}`,
    {
      cause: error,
      retryable: true,
      ...(why ? { cure: 'end what is not needed, or raise the limit (ulimit); Pith tries again by itself' } : {}),
    },
  );
}
