/**
 * Takes runs of a store until nothing is left, as one of several processes; a plan in JSON says how. With arrivals it queues runs meanwhile,
 * each more urgent than the one before, and what it has gives its slot away when it is asked to. Prints `ready`, waits for a line, works.
 */
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { newRun, openRuns } from './shared-store.ts';

export interface Plan {
  readonly file: string;
  readonly lanes: readonly string[];
  readonly slots: number;
  /** Numbers and priorities of the runs that it queues. */
  readonly arrivals: readonly number[];
}

const LEASE_MS = 60_000;

const { file, lanes, slots, arrivals } = JSON.parse(process.argv[2] ?? '') as Plan;
const { runs, close } = await openRuns(file);
const rules = { slots, preemptionMs: 0 };
const taker = { holder: String(process.pid), leaseMs: LEASE_MS };
const held = new Map<string, { readonly id: string; readonly attempt: number }>();
const done = { state: 'ok', output: 'done', error: null } as const;
const preempted = { state: 'preempted', output: null, error: { code: 'preempted', message: 'a more urgent run took its place' } } as const;
let arriving = arrivals.length > 0;

process.stdout.write('ready\n');
await once(process.stdin, 'data');
process.stdin.destroy();
const arrived = (async () => {
  for (const number of arrivals)
    await runs.arrive(newRun(number, { priority: number, preemptible: 1, lane: lanes[number % lanes.length] ?? '' }), rules);
  arriving = false;
})();
await Promise.all([arrived, ...lanes.map(work)]);
await close();

async function work(lane: string): Promise<void> {
  for (;;) {
    const claimed = await runs.claim(lane, rules, taker);
    if (claimed !== null && !claimed.isOver) held.set(claimed.run.id, claimed.run);
    await give();
    if (claimed !== null) continue;
    if (!arriving && !(await runs.busyLanes()).includes(lane)) return;
    await setImmediate();
  }
}

/** Ends what was asked to end, and all the rest once nothing more arrives. */
async function give(): Promise<void> {
  const all = [...held.values()];
  const why = arrivals.length === 0 ? new Map<string, string>() : await runs.renew(all, LEASE_MS);
  for (const run of all) {
    const isAsked = why.get(run.id) === 'preempted';
    if (arriving && !isAsked) continue;
    if (!held.delete(run.id)) continue;
    await runs.finish(run, isAsked ? preempted : done, false);
  }
}
