import { openKernel, runProcess } from './cli/index.ts';

/** The `pith` command: reads this process's arguments, runs, and ends the process. */
export function main(): Promise<void> {
  return runProcess(openKernel);
}
