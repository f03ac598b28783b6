import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '@pith/promises';
import { createJobStore, createSqliteTables, type LanePolicy } from '../../../core/durable/index.ts';
import { openStore } from '../../../core/store/index.ts';
import { type Lane, pick } from '../../../sandbox/extensions/saved_skills/runs/lanes.ts';
import { declared, newJob } from '../../core/durable/jobs/new-job.ts';
import { folderWith } from '../../places.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
/** How many runs; in the long form ten times as many. */
const [QUEUED, URGENT] = isLong ? [1000, 1500] : [100, 150];
const LANES = ['one', 'two'];
const USERS = ['A', 'B', 'C', 'D', 'E'];
const NAME = 'saved_skills.run';
const DONE = { kind: 'done', result: 'null' } as const;

/** Two connections to one file, as of two processes, whose clock the test moves. */
function two(slots: number) {
  const file = path.join(folderWith(), 'pith.db');
  const clock = { at: 1_700_000_000_000 };
  const policy = { rules: () => ({ slots, preemptionMs: 0 }), pick: (lane: unknown) => pick(lane as Lane) } as LanePolicy;
  const jobs = new Map([[NAME, declared(NAME, { lanes: true, concurrency: 1_000_000 })]]);
  let ids = 0;
  const stores: readonly Process[] = ['x', 'y'].map((holder) => {
    const store = openStore(file, systemClock);
    onTestFinished(() => store.close());
    const own = createJobStore(createSqliteTables(store), { now: () => clock.at }, () => `told-${(ids += 1)}`);
    return {
      store: own,
      add: (id: string, more: object) => own.insert(newJob(NAME, { id, ...more }), policy),
      claim: async () => (await own.claim({ holder, jobs, policies: new Map([[NAME, policy]]), only: null, most: 64 })).taken,
    };
  });
  return { clock, stores };
}

interface Process {
  readonly store: ReturnType<typeof createJobStore>;
  readonly add: (id: string, more: object) => Promise<unknown>;
  readonly claim: () => Promise<readonly { readonly id: string; readonly fence: number; readonly lane: string | null }[]>;
}

describe('lanes that two processes share', () => {
  it('M60 M61 runs of five users in two lanes of one slot are claimed as A1 B1 C1 D1 E1 A2 …', async () => {
    const { stores } = two(1);
    const each = QUEUED / LANES.length / USERS.length;
    // Of one user after the other: their turns come from the lane and not from the order of arrival.
    for (const lane of LANES)
      for (const owner of USERS) for (let n = 1; n <= each; n += 1) await stores[n % 2]?.add(`${lane}-${owner}${n}`, { lane, owner });
    const order = new Map<string, string[]>(LANES.map((lane) => [lane, []]));
    for (let turn = 0; turn < QUEUED; turn += 1) {
      const { store, claim } = stores[turn % 2] as Process;
      const taken = await claim();
      expect(await stores[(turn + 1) % 2]?.claim()).toEqual([]);
      for (const { id, fence, lane } of taken) {
        order.get(lane ?? '')?.push(id.slice(4));
        await store.settle({ id, fence }, DONE, true);
      }
    }
    const stated = Array.from({ length: each * USERS.length }, (_, at) => `${USERS[at % 5]}${Math.floor(at / 5) + 1}`);
    for (const claims of order.values()) expect(claims).toEqual(stated);
  });

  it('M60 M65 ever more urgent runs: no slot is given twice, and every run ends once', async () => {
    const { stores, clock } = two(3);
    const held: { readonly id: string; readonly fence: number }[] = [];
    const ends: string[] = [];
    let preempted = 0;
    const settle = async (run: (typeof held)[number], by: Process) => {
      const isAsked = (await by.store.stops([run])).has(run.id);
      if (!(await by.store.settle(run, isAsked ? { kind: 'returned', at: null } : DONE, true))) return;
      held.splice(held.indexOf(run), 1);
      ends.push(run.id);
      preempted += Number((await by.store.get(run.id))?.error?.code === 'preempted');
    };
    for (let number = 0; number < URGENT || held.length > 0; number += 1) {
      const by = stores[number % 2] as Process;
      clock.at += 1;
      if (number < URGENT) await by.add(`${number}`.padStart(4, '0'), { lane: 'one', owner: 'A', priority: number, preemptible: true });
      held.push(...(await by.claim()));
      expect(held.length).toBeLessThanOrEqual(3);
      const stops = await by.store.stops(held);
      for (const run of held.slice()) if (stops.has(run.id) || number >= URGENT) await settle(run, by);
      held.push(...(await by.claim()));
    }
    expect(new Set(ends).size).toBe(URGENT);
    expect(ends).toHaveLength(URGENT);
    expect(preempted).toBeGreaterThan(10);
  });
});
