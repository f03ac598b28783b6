import { systemClock } from '@pith/promises';
import { everyProcess, familyOf, hasVariable, processEntry } from './process-table.ts';

/** The variable that marks a host's processes, also those that left its group and outlived their parent. */
export const HOST_VARIABLE = 'PITH_HOST';

/** Sends SIGKILL to a host, its process group and all its descendants. Returns the pids. */
export function killHost(pid: number): readonly number[] {
  const family = familyOf(pid);
  killGroup(pid); // first, so that what it forks meanwhile dies too
  for (const each of family) kill(each);
  return family;
}

/** Sends SIGKILL to all processes of a group. */
export function killGroup(leader: number): void {
  kill(-leader);
}

/** Sends SIGKILL to all processes with a host's mark or in its group. Resolves their number. */
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

/** Kills what a host left behind until nothing is left. `seen`: processes that were below it, with their start times. */
export async function sweepRemains(group: number, marker: string, seen: ReadonlyMap<number, string>): Promise<void> {
  for (const [each, startTime] of seen) killSame(each, startTime);
  for (let round = 0; round < SWEEPS && (await killRemains(marker, group)) > 0; round += 1) await systemClock.sleep(SWEEP_PAUSE_MS);
}

/** Kills a process unless its pid has been reused. */
export function killSame(pid: number, startTime: string): void {
  if (processEntry(pid)?.startTime === startTime) kill(pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already, or the system has no process groups.
  }
}

/** How a process ended: its exit code, or the signal that ended it. */
export interface ExitOf {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}
