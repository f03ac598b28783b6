import { openKernel } from './cli/open-kernel.ts';
import { runProcess } from './cli/process.ts';

/** The `pith` command: reads this process's arguments, runs, and ends the process. */
export function main(): Promise<void> {
  return runProcess(openKernel);
}
