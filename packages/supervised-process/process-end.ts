import { sleep } from './timers.ts';
import { everyProcess, familyOf, hasVariable, processEntry } from './process-table.ts';

/** The variable by which the processes of a host are known, also those that left its group and outlived their parent. */
export const HOST_VARIABLE = 'PITH_HOST';

/** Sends SIGKILL to a host, its process group, and all that descend from it. Returns whom it was sent to. */
export function killHost(pid: number): readonly number[] {
  const family = familyOf(pid);
  // The group first: what it forks in the meantime dies with it.
  kill(-pid);
  for (const each of family) kill(each);
  return family;
}

/** Sends SIGKILL to whatever is left of a host: what carries its mark, or is of its group. Resolves to how many there were. */
export async function killRemains(marker: string, group: number | null): Promise<number> {
  let found = 0;
  for await (const { pid, group: of, session } of everyProcess()) {
    if (of !== group && session !== group && !(await hasVariable(pid, HOST_VARIABLE, marker))) continue;
    found += 1;
    for (const each of familyOf(pid)) kill(each);
  }
  return found;
}

const SWEEPS = 20;
const SWEEP_PAUSE_MS = 25;

/** Ends what a host left behind, until nothing is left. `seen`: processes that were below it, with their start times. */
export async function sweepRemains(group: number, marker: string, seen: ReadonlyMap<number, string>): Promise<void> {
  for (const [each, startTime] of seen) killSame(each, startTime);
  for (let round = 0; round < SWEEPS && (await killRemains(marker, group)) > 0; round += 1) await sleep(SWEEP_PAUSE_MS);
}

/** Kills a process unless its pid belongs to another one by now. */
export function killSame(pid: number, startTime: string): void {
  if (processEntry(pid)?.startTime === startTime) kill(pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already, or the system knows no process groups.
  }
}

/** How a process ended: its exit code, or the signal that ended it. */
export interface ExitOf {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}
