import { readdirSync, readFileSync } from 'node:fs';

/** What `/proc` says of a process. Only Linux has it; elsewhere everything here finds nothing. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In ticks since the machine started: with the pid it names a process for good. */
  readonly startTime: string;
}

/** null: there is none, or it has ended and nobody has asked how. */
export function processEntry(pid: number): ProcessEntry | null {
  const stat = read(`/proc/${pid}/stat`);
  // The name of the program stands in brackets and may hold anything, brackets too.
  const [state, parent, group, session, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const startTime = rest[15];
  if (startTime === undefined || state === 'Z' || state === 'X') return null;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), startTime };
}

export function allProcesses(): readonly ProcessEntry[] {
  return names('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((name) => processEntry(Number(name)) ?? []);
}

/** A process and all that descend from it, as far as none in between has ended. */
export function familyOf(pid: number): readonly number[] {
  const found = [pid];
  for (const each of found) {
    for (const thread of names(`/proc/${each}/task`)) {
      for (const child of read(`/proc/${each}/task/${thread}/children`).split(' ')) {
        if (child !== '' && !found.includes(Number(child))) found.push(Number(child));
      }
    }
  }
  return found;
}

/** Whether a process was started with `NAME=value`, or below one that was. */
export function hasVariable(pid: number, name: string, value: string): boolean {
  return `\0${read(`/proc/${pid}/environ`)}`.includes(`\0${name}=${value}\0`);
}

/** What a file of `/proc` says; empty when it cannot be read. */
export function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return ''; // it has ended, belongs to somebody else, or there is no /proc
  }
}

/** What lies in a folder of `/proc`. */
export function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // as above
  }
}
