import type { HandlerEnd, JobCall } from '../../kernel/index.ts';
import type { JobDeclaration } from './port.ts';
import { NEVER } from './row.ts';
import { DEFAULT_BACKOFF } from './transitions.ts';

export interface KernelJob extends JobDeclaration {
  run(job: JobCall, signal: AbortSignal): Promise<HandlerEnd>;
}

/** The job of each tick of a schedule that names a handler. */
export const PUBLISH_TICK = 'publish schedule.due';

/** The kernel's own jobs, and what their modules keep beside the rows. */
export interface KernelJobs {
  /** Those that this process can work on now, by name. */
  jobs(): ReadonlyMap<string, KernelJob>;
  /** Another process has written. */
  changed(): void;
  /** Called before anything is worked on, and after the clock was set back. */
  repair(): Promise<void>;
  /** Called about once an hour; it may resume jobs. */
  tidy(): Promise<void>;
}

/** `name`: with a space. It is never dead, and forgotten when it is done. */
export function kernelJob(name: string, concurrency: number, run: KernelJob['run']): readonly [string, KernelJob] {
  const rest = { version: 1, lanes: false, keep: false, attempts: NEVER, backoff: DEFAULT_BACKOFF };
  return [name, { name, concurrency, ...rest, run }];
}
