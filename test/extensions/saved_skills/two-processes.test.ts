import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { exactly } from '@pith/database-queries';
import { folderWith } from '../../places.ts';
import { moreUrgent, orderOfClaims, roundRobin } from './competing.ts';
import { newRun, openRuns } from './shared-store.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
/** How many runs; in the long form ten times as many. */
const [QUEUED, URGENT] = isLong ? [1000, 1500] : [100, 150];
const RULES = { slots: 1, preemptionMs: 30_000 };

describe('a lane', () => {
  it('M60 takes 600 runs that arrive at once in two processes: none is refused, and none waits for hundreds of others to look again', async () => {
    const file = path.join(folderWith(), 'pith.db');
    const [one, other] = [await openRuns(file), await openRuns(file)];
    const numbers = Array.from({ length: 600 }, (_, number) => number);
    const arrived = await Promise.all(numbers.map((number) => (number % 2 === 0 ? one : other).runs.arrive(newRun(number), RULES)));
    expect(arrived).toEqual(numbers.map(() => true));
    expect(one.reads() + other.reads()).toBeLessThan(600 * 20);
    await Promise.all([one.close(), other.close()]);
  });

  it('M48 a tick that another process was faster with is given up at once', async () => {
    const { runs, reads, close } = await openRuns(path.join(folderWith(), 'pith.db'));
    await runs.arrive(newRun(1), RULES);
    const before = reads();
    const taken: Parameters<typeof runs.arrive>[2] = (db) => [
      exactly(1, db.updateTable('saved_skills__runs').set({ steps: 1 }).where('id', '=', 'gone')),
    ];
    await expect(runs.arrive(newRun(2), RULES, taken)).rejects.toMatchObject({ code: 'write_conflict' });
    expect(reads() - before).toBeLessThan(20);
    await close();
  });
});

describe('lanes that two processes share', () => {
  it('M60 M61 runs of five users in two lanes of one slot are claimed as A1 B1 C1 D1 E1 A2 …', async () => {
    const order = await orderOfClaims(QUEUED);
    for (const claims of order.values()) expect(claims).toEqual(roundRobin(QUEUED));
    expect(order.size).toBe(2);
  });

  it('M60 M65 ever more urgent runs: no slot is given twice, and every run ends once', async () => {
    const { most, ok, preempted } = await moreUrgent(URGENT, 3);
    expect(most).toBe(3);
    expect(ok + preempted).toBe(URGENT);
    expect(preempted).toBeGreaterThan(10);
  });
});
