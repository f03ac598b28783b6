import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { ExitOf } from './process-end.ts';
import { findProgram } from './programs.ts';
import { after } from './timers.ts';

/** A command that the system ends, where it can, with the thread that started it, whatever ended that. */
export function killWithParent(argv: readonly string[]): readonly string[] {
  const setpriv = process.platform === 'linux' ? findProgram('setpriv') : null;
  return setpriv === null ? argv : [setpriv, '--pdeathsig', 'KILL', '--', ...argv];
}

/** When memory runs out, the system takes the host rather than the kernel. */
export function raiseOomScore(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Not Linux, or it has ended.
  }
}

/** Whatever it starts, and however much, whoever watches it gets the processor first. */
export function yieldProcessor(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended.
  }
}

const LAST_OUTPUT_MS = 250;

/** How it ended, once it is gone and what it printed has been read. */
export function endOf(child: ChildProcess): Promise<ExitOf> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    // What it started may hold its output open.
    child.once('exit', (code, signal) => after(LAST_OUTPUT_MS, () => resolve({ code, signal })));
  });
}
