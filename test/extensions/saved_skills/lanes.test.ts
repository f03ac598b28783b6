import { describe, expect, it } from 'vitest';
import { nextClaim, victimOf, type Holding, type Waiting } from '../../../sandbox/extensions/saved_skills/runs/lanes.ts';

const waiting = (id: string, userId: string, more: Partial<Waiting> = {}): Waiting => ({
  id,
  userId,
  attempt: 0,
  priority: 0,
  takesOver: null,
  servedAt: 0,
  ...more,
});
const holding = (id: string, more: Partial<Holding> = {}): Holding => ({
  id,
  attempt: 1,
  priority: 0,
  preemptible: true,
  startedAt: 0,
  leaseUntil: 1_000_000,
  preemptedAt: null,
  ...more,
});
const begun = (lane: Parameters<typeof nextClaim>[0], now = 0) => nextClaim(lane, now)?.run.id ?? null;

describe('a lane', () => {
  it('M60 gives no more slots than it has', () => {
    expect(begun({ slots: 1, holding: [holding('x')], waiting: [waiting('a', 'A')] })).toBeNull();
    expect(begun({ slots: 2, holding: [holding('x')], waiting: [waiting('a', 'A')] })).toBe('a');
  });

  it('M61 serves users in turn: A1 B1 A2 …', () => {
    const queue = [waiting('1', 'A'), waiting('2', 'A'), waiting('3', 'A'), waiting('4', 'B'), waiting('5', 'A')];
    const served = new Map<string, number>();
    const order: string[] = [];
    for (let turn = 1; queue.length > 0; turn += 1) {
      const found = nextClaim(
        { slots: 1, holding: [], waiting: queue.map((run) => ({ ...run, servedAt: served.get(run.userId) ?? 0 })) },
        0,
      );
      const run = found?.run as Waiting;
      order.push(`${run.userId}${run.id}`);
      served.set(run.userId, turn);
      queue.splice(
        queue.findIndex(({ id }) => id === run.id),
        1,
      );
    }
    expect(order).toEqual(['A1', 'B4', 'A2', 'A3', 'A5']);
  });

  it('M62 within a user by priority, then age; priority gives nobody the turn of another', () => {
    const lane = {
      slots: 1,
      holding: [],
      waiting: [waiting('1', 'A'), waiting('2', 'A', { priority: 5 }), waiting('3', 'B', { servedAt: 1, priority: 9 })],
    };
    expect(begun(lane)).toBe('2');
  });

  it('M60 of users who were served equally long ago the more urgent run is first, then the older', () => {
    const lane = {
      slots: 1,
      holding: [],
      waiting: [waiting('1', 'A'), waiting('2', 'B', { priority: 3 }), waiting('3', 'C', { priority: 3 })],
    };
    expect(begun(lane)).toBe('2');
  });

  it('M60 goes on with what lost its process, in its own slot', () => {
    expect(nextClaim({ slots: 1, holding: [holding('x', { leaseUntil: 5 })], waiting: [waiting('a', 'A')] }, 5)).toMatchObject({
      kind: 'take over',
      run: { id: 'x' },
    });
  });

  it('M65 M66 M67 one run gives its slot: of the preemptible ones aged enough the least urgent, then the youngest', () => {
    const lane = {
      slots: 4,
      waiting: [],
      holding: [
        holding('old', { priority: 1 }),
        holding('young', { priority: 1, startedAt: 50_000 }),
        holding('fresh', { priority: 0, startedAt: 99_000 }),
        holding('firm', { priority: 0, preemptible: false }),
      ],
    };
    const at = { now: 100_000, leastMs: 30_000 };
    expect(victimOf(lane, 5, at)?.id).toBe('young');
    expect(victimOf(lane, 1, at)).toBeNull();
    expect(victimOf({ ...lane, slots: 5 }, 5, at)).toBeNull();
    expect(victimOf({ ...lane, holding: lane.holding.map((run) => ({ ...run, preemptedAt: 1 })) }, 5, at)).toBeNull();
  });

  it('M65 M68 the slot of the victim goes to whom it was promised, when it has settled or its grace is over', () => {
    const queue = [waiting('1', 'A'), waiting('9', 'B', { takesOver: 'x', servedAt: 7 })];
    const victim = holding('x', { preemptedAt: 1000 });
    expect(begun({ slots: 1, holding: [victim], waiting: queue }, 2000)).toBeNull();
    expect(nextClaim({ slots: 1, holding: [victim], waiting: queue }, 6000)).toMatchObject({ kind: 'end preempted', run: { id: 'x' } });
    expect(begun({ slots: 1, holding: [], waiting: queue }, 2000)).toBe('9');
  });
});
