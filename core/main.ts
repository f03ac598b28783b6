import { realBoot } from './cli/real-boot.ts';
import { runProcess } from './cli/process.ts';

/** The `pith` command: reads this process's arguments, runs, and ends the process. `installation`: the folder of the files that it runs from. */
export function main(installation?: string): Promise<void> {
  return runProcess(realBoot(), installation);
}
