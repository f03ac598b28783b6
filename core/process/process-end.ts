import { systemClock, type ErrorCode } from '../kernel/index.ts';
import { everyProcess, familyOf, hasVariable, processEntry } from './process-table.ts';
import { constants } from 'node:os';

/** The variable by which the processes of a host are known, also those that left its group and outlived their parent. */
export const HOST_VARIABLE = 'PITH_HOST';

/** Sends SIGKILL to a host, its process group, and all that descend from it. */
export function killHost(pid: number): void {
  const family = familyOf(pid);
  // The group first: what it forks in the meantime dies with it.
  kill(-pid);
  for (const each of family) kill(each);
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
  for (let round = 0; round < SWEEPS && (await killRemains(marker, group)) > 0; round += 1) await systemClock.sleep(SWEEP_PAUSE_MS);
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

/** Why a process is no more, in words that end a sentence: `its process ended with exit code 1`. */
export interface Ending {
  readonly code: ErrorCode;
  readonly message: string;
  /** What to do about it, as an imperative. */
  readonly cure?: string;
}

/** How a process ended: its exit code, or the signal that ended it. */
export interface ExitOf {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface EndingFacts {
  /** The end of what it printed. */
  readonly lastWords: string;
  readonly heapMb: number;
  readonly extensionId: string;
  /** The sandbox tells a signal as an exit code of 128 and its number. */
  readonly isSandboxed: boolean;
}

/** Why a process ended that nobody ended, in words. */
export function endingOf({ code, signal }: ExitOf, facts: EndingFacts): Ending {
  if (/heap out of memory|invalid (?:array|table) size|Zone Allocation failed/iu.test(facts.lastWords)) {
    const cure = `keep less in memory, or set extensions.${facts.extensionId}.memory_mb`;
    return { code: 'process_limit', message: `its heap was full at ${facts.heapMb} MB`, cure };
  }
  const name = signal ?? (facts.isSandboxed ? signalOf(code) : undefined);
  const how = name === undefined ? `ended with exit code ${code}` : `was ended by the signal ${name}`;
  return { code: 'process_ended', message: `its process ${how}` };
}

function signalOf(code: number | null): string | undefined {
  return code === null || code <= 128 ? undefined : Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}
