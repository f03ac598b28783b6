import type { HostJobs } from '../kernel/index.ts';
import type { Incoming } from '@pith/process-rpc';

type Call = (args: readonly unknown[], incoming: Incoming) => unknown;

/** What the process of an extension may ask of its jobs, which check what they are given. */
export function jobCalls(jobs: () => HostJobs): Readonly<Record<string, Call>> {
  const plain = JOB_METHODS.map((name): [string, Call] => [
    `jobs.${name}`,
    (args) => (jobs()[name] as (...given: readonly unknown[]) => unknown)(...args),
  ]);
  return {
    ...Object.fromEntries(plain),
    'jobs.watch': ([id], { signal }) => jobs().watch(id as string, signal),
    'jobs.finished': ([id], { signal }) => jobs().finished(id as string, signal),
  };
}

/** Those that take and answer plain data. */
export const JOB_METHODS = [
  'add',
  'resume',
  'cancel',
  'get',
  'list',
  'schedule',
  'pause',
  'note',
] as const satisfies readonly (keyof HostJobs)[];
