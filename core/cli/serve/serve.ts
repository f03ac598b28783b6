import { setTimeout as sleep } from 'node:timers/promises';
import { systemCure } from '@pith/safe-files';
import { type Command, type CommandInput, type CommandIO, messageOf } from '../../contract/index.ts';
import { type Quarantined, quarantineIn } from '../../declarations/index.ts';
import { afterCrash, CRASH_WINDOW_MS, LONGEST_WAIT_MS, MOST_CRASHES, NO_CRASHES, type Suspect } from './crash-policy.ts';
import { ASKED_TO_END, runKernel } from './kernel-process.ts';
import { isSupervised, portIn } from './supervised.ts';
import type { Line } from '../terminal/opened-target.ts';

/** Under a supervisor it is the kernel, else it is the supervisor. */
export async function serve({ kernel, target, io, signal }: Line, input: CommandInput): Promise<number> {
  const { env } = await target();
  const port = portIn(input.options);
  const { host } = input.options;
  if (!isSupervised(env)) return supervise(env, io, signal);
  const { serveKernel } = await import('./served-kernel.ts');
  return serveKernel(() => kernel({ port, ...(host === undefined ? {} : { host: String(host) }) }), env, io, signal);
}

/** The kernel of a command that serves, under its supervisor. */
export async function serveAgain({ kernel, target, io, signal }: Line): Promise<number> {
  const [{ serveKernel }, { env }] = await Promise.all([import('./served-kernel.ts'), target()]);
  return serveKernel(kernel, env, io, signal);
}

/** Runs a command that serves, where its `--port` says: once it calls `start`, this process supervises, until `signal` ends it. */
export async function runServing(command: Command, input: CommandInput, { target, io, signal }: Line): Promise<number> {
  portIn(input.options); // wrong use is said before anything begins
  if (command.runBeforeStart === undefined) return (await command.run(input, io, signal)) ?? 0;
  const { env } = await target();
  let served: number | null = null;
  const start = async (): Promise<null> => {
    served = await supervise(env, io, signal);
    return null;
  };
  const code = await command.runBeforeStart(input, io, start, signal);
  return served ?? code ?? 0;
}

/** Keeps a kernel running until `signal` ends it. Returns the exit code. */
async function supervise(
  env: Readonly<Record<string, string | undefined>>,
  io: Pick<CommandIO, 'error'>,
  signal: AbortSignal,
): Promise<number> {
  let counted = { crashed: NO_CRASHES, 'could not start': NO_CRASHES };
  let isUnwrittenSaid = false;
  let known: { readonly dataDirectory: string; readonly suspects: readonly Suspect[] } | null = null;
  for (;;) {
    const { end, declared } = await runKernel(env, signal);
    const ranBefore = known !== null;
    known = declared ?? known;
    if (end.how === 'stopped') return 0;
    // A kernel that never started is reported at once; one that has started once is restarted after every failure.
    if (end.how === 'exit' && (ASKED_TO_END.includes(end.code) || !ranBefore)) return end.code;
    if (end.how === 'restart') {
      io.error(`Restarting the kernel: ${end.reason}`);
      continue;
    }
    // No extension can keep a kernel from starting, so such ends do not count as crashes. The kernel has printed the reason.
    const [what, why, suspects] =
      end.how === 'exit'
        ? (['could not start', `exit code ${end.code}`, []] as const)
        : (['crashed', end.why, known?.suspects ?? []] as const);
    const now = Date.now();
    const { crashes, decision } = afterCrash(counted[what], suspects, now);
    counted = { ...counted, [what]: crashes };
    const often = `the kernel ${what} ${MOST_CRASHES} times in ${CRASH_WINDOW_MS / 60_000} minutes`;
    if (decision.act === 'give up') {
      const cure =
        end.how === 'exit'
          ? '; correct the error above'
          : ', and no changed extension is left that could be why; see the log in the data folder';
      io.error(`pith: ${often}: ${why}${cure}, then start again: pith serve`);
      return 1;
    }
    if (decision.act === 'quarantine') {
      const ids = decision.suspects.map(({ id }) => `'${id}'`).join(', ');
      const which = decision.suspects.length === 1 ? 'the newest changed extension' : 'what changed since the last good start';
      const reason = `${often} (${why}), and this is ${which}`;
      const unwritten = leaveOut(
        known?.dataDirectory ?? '',
        decision.suspects.map(({ id, digest }) => ({ id, digest, reason, at: now })),
      );
      if (unwritten === null) {
        const cure = decision.suspects.map(({ id }) => `pith extensions reload ${id}`).join(', ');
        io.error(`pith: ${often}: ${why}; it starts without ${ids}, ${which}; edit it, or run: ${cure}`);
        continue;
      }
      if (!isUnwrittenSaid) io.error(`pith: ${often}: ${why}; it starts with ${ids} again, which could not be left out: ${unwritten}`);
      isUnwrittenSaid = true;
    } else io.error(`pith: the kernel ${what}: ${why}; it starts again`);
    const afterMs = decision.act === 'start' ? decision.afterMs : LONGEST_WAIT_MS;
    if (!(await sleep(afterMs, true, { signal }).catch(() => false))) return 0; // ended meanwhile
  }
}

/** Why that could not be recorded, with a cure; null when it was. */
function leaveOut(dataDirectory: string, entries: readonly Quarantined[]): string | null {
  try {
    quarantineIn(dataDirectory).add(entries);
    return null;
  } catch (error) {
    return `${messageOf(error)}; ${systemCure(error, dataDirectory) ?? `make ${dataDirectory} writable`}`;
  }
}
