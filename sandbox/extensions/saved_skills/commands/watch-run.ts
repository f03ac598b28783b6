import type { Clock, CommandIO } from 'pith';
import { printableLine } from '@pith/plain-text';
import { hasEnded, type Run, type RunStore } from '../runs/index.ts';

const LOOK_MS = 150;

/** Follows a run until it has ended or waits for a person, and shows what it does. Leaving cancels it. */
export async function watchRun(
  runs: RunStore,
  first: Run,
  { io, clock }: { readonly io: CommandIO; readonly clock: Clock },
  signal: AbortSignal,
): Promise<Run> {
  let shown = 0;
  let status: string | null = null;
  let state: string | null = null;
  for (let run = first; ; run = (await runs.byId(first.id)) ?? run) {
    if (!io.quiet && run.state !== state && !hasEnded(run)) io.error(`Run ${run.id} is ${run.state}`);
    ({ state } = run);
    if (run.statusLine !== status && run.statusLine !== null && !io.quiet) io.error(`  ${printableLine(run.statusLine)}`);
    status = run.statusLine;
    const steps = io.quiet ? [] : await runs.steps(run.id);
    for (const { what } of steps.slice(shown)) io.error(`  ${printableLine(what, 160)}`);
    shown = steps.length;
    if (hasEnded(run) || run.state === 'waiting') return run;
    const stopped = await clock.sleep(LOOK_MS, signal).then(
      () => false,
      () => true,
    );
    if (!stopped) continue;
    await runs.cancel(run.id);
    return (await runs.byId(run.id)) ?? run;
  }
}
