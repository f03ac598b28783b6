import { describe, expect, it } from 'vitest';
import { type Lane, pick } from '../../../sandbox/extensions/saved_skills/runs/lanes.ts';

type Waiting = Lane['heads'][number];
type Holding = Lane['running'][number];
const waiting = (id: string, owner: string, more: Partial<Waiting> = {}): Waiting => ({
  id,
  owner,
  priority: 0,
  preemptible: true,
  ...more,
});
const holding = (id: string, more: Partial<Holding> = {}): Holding => ({
  ...waiting(id, 'A'),
  begun: 0,
  preempted: false,
  ...more,
});
const lane = (slots: number, more: Partial<Lane> = {}): Lane => ({
  arrived: null,
  heads: [],
  running: [],
  served: new Map(),
  promised: new Map(),
  now: 0,
  ...more,
  rules: { slots, preemptionMs: 30_000 },
});

describe('a lane', () => {
  it('M60 gives no more slots than it has', () => {
    expect(pick(lane(1, { running: [holding('x')], heads: [waiting('a', 'A')] })).start).toEqual([]);
    expect(pick(lane(2, { running: [holding('x')], heads: [waiting('a', 'A'), waiting('b', 'A')] })).start).toEqual(['a']);
  });

  it('M61 serves users in turn: A1 B1 A2 …', () => {
    const heads = [waiting('1', 'A'), waiting('2', 'A'), waiting('3', 'A'), waiting('4', 'B'), waiting('5', 'A')];
    expect(pick(lane(9, { heads })).start).toEqual(['1', '4', '2', '3', '5']);
  });

  it('M62 within a user by priority, then age; priority gives nobody the turn of another', () => {
    const heads = [waiting('3', 'B', { priority: 9 }), waiting('2', 'A', { priority: 5 }), waiting('1', 'A')];
    expect(pick(lane(1, { heads, served: new Map([['B', 1]]) })).start).toEqual(['2']);
  });

  it('M65 M66 M67 one run gives its slot: of the preemptible ones aged enough the least urgent, then the youngest', () => {
    const running = [
      holding('old', { priority: 1 }),
      holding('young', { priority: 1, begun: 50_000 }),
      holding('fresh', { priority: 0, begun: 99_000 }),
      holding('firm', { priority: 0, preemptible: false }),
    ];
    const victim = (priority: number, slots = 4, more = running) =>
      pick(lane(slots, { running: more, arrived: waiting('n', 'N', { priority }), now: 100_000 }));
    expect(victim(5)).toEqual({ start: [], preempt: ['young'], promised: new Map([['n', 'young']]) });
    for (const none of [
      victim(1),
      victim(5, 5),
      victim(
        5,
        4,
        running.map((run) => ({ ...run, preempted: true })),
      ),
    ])
      expect(none).toEqual({ start: [], preempt: [], promised: new Map() });
  });

  it('M65 M68 the slot of the victim goes to whom it was promised', () => {
    const heads = [waiting('1', 'A'), waiting('9', 'B')];
    const promised = new Map([['9', 'x']]);
    const served = new Map([['B', 7]]);
    expect(pick(lane(1, { running: [holding('x', { preempted: true })], heads, promised, served })).start).toEqual([]);
    expect(pick(lane(1, { heads, promised, served })).start).toEqual(['9']);
  });
});

interface Task extends Waiting {
  readonly number: number;
  readonly begun: number;
  /** Whose slot it was promised. */
  promise: number | null;
  asked: boolean;
}

/** What the statements say of a lane, with all that wait in it, one slot at a time. */
class Stated {
  readonly waits: Task[] = [];
  readonly runs: Task[] = [];
  readonly #turns: string[] = [];

  constructor(private readonly slots: number) {}

  /** M65 M66 M67. */
  arrive(task: Task, now: number): Task | null {
    this.waits.push(task);
    if (this.runs.length < this.slots) return null;
    let victim: Task | null = null;
    for (const run of this.runs) {
      if (!run.preemptible || run.asked || run.priority >= task.priority || now - run.begun < 30_000) continue;
      const isLess = victim === null || run.priority < victim.priority || (run.priority === victim.priority && run.begun > victim.begun);
      if (isLess) victim = run;
    }
    if (victim === null) return null;
    victim.asked = true;
    task.promise = victim.number;
    return victim;
  }

  /** M60 M61 M62 M68. */
  begin(now: number): string | null {
    if (this.runs.length >= this.slots) return null;
    const promised = this.waits.filter(({ promise }) => promise !== null && !this.runs.some(({ number }) => number === promise));
    const next = promised.toSorted(urgent)[0] ?? this.#ofUser();
    if (next === undefined) return null;
    this.waits.splice(this.waits.indexOf(next), 1);
    this.runs.push({ ...next, begun: now });
    this.#turns.push(next.owner as string);
    return next.id;
  }

  #ofUser(): Task | undefined {
    const age = (owner: string | null) => this.#turns.lastIndexOf(owner as string);
    const longest = Math.min(...this.waits.map(({ owner }) => age(owner)));
    return this.waits.filter(({ owner }) => age(owner) === longest).toSorted(urgent)[0];
  }

  served(): Map<string, number> {
    return new Map(this.#turns.map((owner, at) => [owner, at + 1]));
  }
}

const urgent = (one: Task, other: Task) => other.priority - one.priority || one.number - other.number;

/** The same numbers for the same seed. */
function randomOf(seed: number): (most: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (most) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % most;
  };
}

/** As a store of jobs asks: three of each user, and those that were promised a slot. */
function asked(stated: Stated, slots: number, more: Partial<Lane>): Lane {
  const ordered = stated.waits.toSorted(urgent);
  const first = ordered.filter((task) => ordered.filter(({ owner }) => owner === task.owner).indexOf(task) < 3 || task.promise !== null);
  return lane(slots, {
    heads: first,
    running: stated.runs.map((run) => ({ ...run, preempted: run.asked })),
    served: stated.served(),
    promised: new Map(stated.waits.flatMap(({ id, promise }) => (promise === null ? [] : [[id, String(promise)]]))),
    ...more,
  });
}

describe('J5: the policy of lanes', () => {
  const scripts = process.env['PITH_TEST_LONG'] === '1' ? 10_000 : 1_000;

  it(`M60 M61 M62 M65 M66 M67 M68 does what the statements say, in ${scripts} random scripts`, () => {
    const seen = { preempted: 0, promised: 0, begun: 0 };
    for (let seed = 1; seed <= scripts; seed += 1) {
      const random = randomOf(seed);
      const slots = 1 + random(3);
      const stated = new Stated(slots);
      const picked: (readonly string[])[] = [];
      const due: (readonly string[])[] = [];
      let now = 0;
      for (let number = 0; number < 40; number += 1) {
        now += random(20_000);
        if (random(3) > 0) {
          const task: Task = {
            ...waiting(String(number), 'ABC'.charAt(random(3)), { priority: random(4), preemptible: random(3) > 0 }),
            number,
            begun: 0,
            promise: null,
            asked: false,
          };
          const given = asked(stated, slots, { arrived: task, heads: [task], now });
          const victim = stated.arrive(task, now);
          seen.preempted += Number(victim !== null);
          picked.push(pick(given).preempt);
          due.push(victim === null ? [] : [victim.id]);
        } else if (stated.runs.length > 0) stated.runs.splice(random(stated.runs.length), 1);
        const { start } = pick(asked(stated, slots, { now }));
        const expected: string[] = [];
        const promised = stated.waits.filter(({ promise }) => promise !== null).length;
        for (let id = stated.begin(now); id !== null; id = stated.begin(now)) expected.push(id);
        seen.promised += promised - stated.waits.filter(({ promise }) => promise !== null).length;
        seen.begun += expected.length;
        picked.push(start);
        due.push(expected);
      }
      expect({ seed, picked }).toEqual({ seed, picked: due });
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(scripts); // each was tried
  });
});
