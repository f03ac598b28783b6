import { readFileSync } from 'node:fs';
import { codeOf } from 'pith';

/** No note of an owner is longer. */
export const LARGEST_OWNER = 64 * 1024;

/** A process, as it can be recognised after its number was given to another. */
export interface Owner {
  readonly pid: number;
  /** When it began, as the system counts; null where that cannot be asked. */
  readonly began: string | null;
}

export function thisProcess(): Owner {
  return { pid: process.pid, began: beginningOf(process.pid) };
}

/** What was written of an owner, or null where it makes no sense. */
export function toOwner(text: string): Owner | null {
  try {
    const { pid, began } = JSON.parse(text) as Partial<Owner>;
    return Number.isSafeInteger(pid) && pid! > 0 ? { pid: pid!, began: typeof began === 'string' ? began : null } : null;
  } catch {
    return null; // cut off while it was written
  }
}

export function isAlive({ pid, began }: Owner): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error, '') === 'ESRCH') return false; // EPERM: it lives, and belongs to somebody else
  }
  const now = beginningOf(pid);
  return began === null || now === null || began === now;
}

function beginningOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? null);
  } catch {
    return null; // no /proc, or the process is gone
  }
}
