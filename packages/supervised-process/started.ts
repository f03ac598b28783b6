import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { systemClock } from '@pith/promises';
import type { ExitOf } from './process-end.ts';
import { findProgram } from './programs.ts';

/** The command, wrapped so that the system ends it with the thread that started it, where it can. */
export function killWithParent(argv: readonly string[]): readonly string[] {
  const setpriv = process.platform === 'linux' ? findProgram('setpriv') : null;
  return setpriv === null ? argv : [setpriv, '--pdeathsig', 'KILL', '--', ...argv];
}

/** Makes the system end the host before the kernel when memory runs out. */
export function raiseOomScore(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Not Linux, or the process has ended.
  }
}

/** Lowers the child's priority, and that of all it starts, so that the process that watches it always gets the processor. */
export function yieldProcessor(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The process has ended.
  }
}

const LAST_OUTPUT_MS = 250;

/** How the child ended, once it is gone and its output has been read. */
export function endOf(child: ChildProcess): Promise<ExitOf> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    // A process that it started may keep its output open.
    child.once('exit', (code, signal) => systemClock.after(LAST_OUTPUT_MS, () => resolve({ code, signal })));
  });
}
