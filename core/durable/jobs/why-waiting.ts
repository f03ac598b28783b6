import type { Hold, JobDeclaration, JobStore } from './port.ts';
import type { JobRow } from './row.ts';
import { heldValue } from './store.ts';

/** Why a job that waits to be started does not begin; null: it is in another state, or nothing keeps it. `job`: as an enabled extension declares it. */
export async function whyWaiting(store: JobStore, row: JobRow, job: JobDeclaration | undefined): Promise<string | null> {
  const { name, version, lane, state, ready } = row;
  if (state !== 'waiting') return null;
  const hold = holdOf(row, await store.holds());
  if (hold) return `${hold.kind === 'name' ? '' : `${hold.kind} `}'${hold.value}' is paused: ${hold.reason}`;
  if (job === undefined) return `no extension that is on has jobs '${name}'`;
  if (version > job.version) return 'a newer version of its extension has added it';
  if (!ready) return 'another job of its sequence is before it';
  if (row.inside) return null;
  const running = (await store.list({ names: [name], states: ['running'], limit: 1_000 })).filter(({ inside }) => !inside);
  if (running.length >= job.concurrency) return `${running.length} jobs '${name}' run, and no more may at once`;
  return job.lanes && lane !== null ? `lane '${lane}' has no free slot for it` : null;
}

/** What keeps a job from being started. */
export function holdOf({ name, lane, owner }: JobRow, holds: readonly Hold[]): Hold | undefined {
  return holds.find(({ kind, value }) => {
    const held = { name, lane, owner }[kind];
    return held !== null && (held === value || (kind !== 'name' && heldValue(name, held) === value));
  });
}
