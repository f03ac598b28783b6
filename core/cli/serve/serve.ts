import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandIO } from '../../contract/index.ts';
import type { Kernel } from '../../compose/index.ts';
import { quarantineIn } from '../../declarations/index.ts';
import { afterCrash, CRASH_WINDOW_MS, MOST_CRASHES, NO_CRASHES, type Suspect } from './crash-policy.ts';
import { ASKED_TO_END, runKernel, SUPERVISED } from './kernel-process.ts';

/** Under a supervisor it is the kernel, else it is the supervisor. */
export async function serve(
  kernel: () => Promise<Kernel>,
  env: Readonly<Record<string, string | undefined>>,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  if (env[SUPERVISED] !== undefined && process.send !== undefined) {
    const { serveKernel } = await import('./served-kernel.ts');
    return serveKernel(kernel, env, io, signal);
  }
  return supervise(env, io, signal);
}

/** Keeps a kernel running until `signal` ends it. Returns the exit code. */
async function supervise(
  env: Readonly<Record<string, string | undefined>>,
  io: Pick<CommandIO, 'error'>,
  signal: AbortSignal,
): Promise<number> {
  let crashes = NO_CRASHES;
  let known: { readonly dataDirectory: string; readonly suspects: readonly Suspect[] } | null = null;
  for (;;) {
    const { end, declared } = await runKernel(env, signal);
    const ranBefore = known !== null;
    known = declared ?? known;
    if (end.how === 'stopped') return 0;
    // What cannot start at all is told at once; what did start once is kept running, whatever is in its way now.
    if (end.how === 'exit' && (ASKED_TO_END.includes(end.code) || !ranBefore)) return end.code;
    if (end.how === 'restart') {
      io.error(`The kernel starts again: ${end.reason}`);
      continue;
    }
    // No extension has run in a kernel that could not start: none is why.
    const why = end.how === 'exit' ? `it could not start (exit code ${end.code})` : end.why;
    const now = Date.now();
    const { crashes: next, decision } = afterCrash(crashes, end.how === 'exit' ? [] : (known?.suspects ?? []), now);
    crashes = next;
    if (decision.act === 'give up') {
      io.error(
        `pith: the kernel crashed ${MOST_CRASHES} times in ${CRASH_WINDOW_MS / 60_000} minutes: ${why}, and no changed extension is left that could be why; see the log in the data folder, then start again: pith serve`,
      );
      return 1;
    }
    if (decision.act === 'quarantine') {
      const ids = decision.suspects.map(({ id }) => `'${id}'`).join(', ');
      const which = decision.suspects.length === 1 ? 'the newest changed extension' : 'what changed since the last good start';
      const reason = `the kernel crashed ${MOST_CRASHES} times in ${CRASH_WINDOW_MS / 60_000} minutes (${why}), and this is ${which}`;
      quarantineIn(known?.dataDirectory ?? '').add(decision.suspects.map(({ id, digest }) => ({ id, digest, reason, at: now })));
      const cure = decision.suspects.map(({ id }) => `pith extensions reload ${id}`).join(', ');
      io.error(
        `pith: the kernel crashed ${MOST_CRASHES} times in ${CRASH_WINDOW_MS / 60_000} minutes: ${why}; it starts without ${ids}, ${which}; edit it, or run: ${cure}`,
      );
      continue;
    }
    io.error(`pith: the kernel crashed: ${why}; it starts again`);
    if (!(await sleep(decision.afterMs, true, { signal }).catch(() => false))) return 0; // ended meanwhile
  }
}
