import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** An entry of `/proc`. Only Linux has it; on other systems the functions here find nothing. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In ticks since the machine started. With the pid, it identifies a process for good. */
  readonly startTime: string;
}

/** null: there is no such process, or it is a zombie. */
export function processEntry(pid: number): ProcessEntry | null {
  return entryOf(pid, read(`/proc/${pid}/stat`));
}

function entryOf(pid: number, stat: string): ProcessEntry | null {
  // The program's name is in brackets and may contain anything, brackets too.
  const [state, parent, group, session, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const startTime = rest[15];
  if (startTime === undefined || state === 'Z' || state === 'X') return null;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), startTime };
}

/** Every process of the machine. There may be thousands, so it yields to the event loop in between. */
export async function* everyProcess(): AsyncGenerator<ProcessEntry> {
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/u.test(name)) continue;
    const entry = entryOf(Number(name), await readLater(`/proc/${name}/stat`));
    if (entry) yield entry;
  }
}

/** A process and its descendants, except those below one that has ended; at most `most` of them. */
export function familyOf(pid: number, most = Infinity): readonly number[] {
  const found = new Set([pid]);
  for (const each of found) {
    for (const thread of names(`/proc/${each}/task`)) {
      for (const child of read(`/proc/${each}/task/${thread}/children`).split(' ')) if (child !== '') found.add(Number(child));
    }
    if (found.size > most) break;
  }
  return [...found];
}

/** Whether a process, or one above it, was started with `NAME=value`. */
export async function hasVariable(pid: number, name: string, value: string): Promise<boolean> {
  return `\0${await readLater(`/proc/${pid}/environ`)}`.includes(`\0${name}=${value}\0`);
}

function readLater(file: string): Promise<string> {
  return readFile(file, 'latin1').catch(() => ''); // as in `read`
}

/** The content of a file of `/proc`; empty when it cannot be read. */
export function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return ''; // it has ended, belongs to another user, or there is no /proc
  }
}

/** The names in a folder of `/proc`. */
export function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // as above
  }
}
