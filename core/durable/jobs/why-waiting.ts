import { once } from '@pith/promises';
import type { Hold, JobDeclaration, JobStore } from './port.ts';
import { isOfKernel, type JobRow } from './row.ts';
import { heldValue } from './store.ts';

/**
 * Says of jobs that wait to be started why they do not begin; null: one is in another state, or nothing keeps it. For all of them the store
 * is asked once. `declared`: the jobs of enabled extensions.
 */
export function reasonsToWait(
  store: Pick<JobStore, 'holds' | 'running'>,
  declared: () => ReadonlyMap<string, JobDeclaration>,
): (row: JobRow) => Promise<string | null> {
  const holds = once(() => store.holds());
  const jobs = once(declared);
  const running = new Map<string, Promise<number>>();
  const failures = new Map<string, Promise<string | null> | undefined>();
  return async (row) => {
    const { name, version, lane, state, ready } = row;
    if (state !== 'waiting') return null;
    const hold = holdOf(row, await holds());
    if (hold) return `${hold.kind === 'name' ? '' : `${hold.kind} `}'${hold.value}' is paused: ${hold.reason}`;
    if (isOfKernel(name)) return null; // such as a delivery, which waits for whoever hears it
    const job = jobs().get(name);
    if (job === undefined) return `no extension that is on has jobs '${name}'`;
    if (!failures.has(name)) failures.set(name, job.failure?.());
    const failure = (await failures.get(name)) ?? null;
    if (failure !== null) return failure;
    if (version > job.version) return 'a newer version of its extension has added it';
    if (!ready) return 'another job of its sequence is before it';
    if (row.inside) return null;
    const count = running.get(name) ?? store.running(name);
    running.set(name, count);
    if ((await count) >= job.concurrency) return `'${name}' has ${await count} running, the most at once`;
    return job.lanes && lane !== null && (await count) > 0 ? `lane '${lane}' has no free slot for it` : null;
  };
}

/** What keeps a job from being started. */
export function holdOf({ name, lane, owner }: JobRow, holds: readonly Hold[]): Hold | undefined {
  return holds.find(({ kind, value }) => {
    const held = { name, lane, owner }[kind];
    return held !== null && (held === value || (kind !== 'name' && heldValue(name, held) === value));
  });
}
