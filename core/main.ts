import { realBoot } from './cli/real-boot.ts';
import { runProcess } from './cli/process.ts';

/** The `pith` command: reads this process's arguments, runs, and ends the process. */
export function main(): Promise<void> {
  return runProcess(realBoot());
}
