import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type Attempt,
  type Claim,
  createJobStore,
  hasEnded,
  type JobDeclaration,
  type JobRow,
  type LanePolicy,
  type Outcome,
} from '../../../../core/durable/index.ts';
import type { Store } from '../../../../core/store/index.ts';
import { memoryStore } from '../../store/temporary-store.ts';
import { declared, newJob } from './new-job.ts';
import { START } from './store-world.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
const LEASE_MS = 3_000;
const GRACE_MS = 5_000;
const HOUR_MS = 3_600_000;
const SLOTS = 2;

/** Of the last, rows are deleted when they are done. */
const JOBS: readonly JobDeclaration[] = [
  declared('x.a', { concurrency: 2 }),
  declared('x.lanes', { lanes: true, concurrency: 100 }),
  declared('x.b', { concurrency: 3, keep: false }),
];

/** The first heads; a newcomer takes the slot of the first that is less urgent. */
const POLICY: LanePolicy = {
  rules: () => SLOTS,
  pick({ arrived, heads, running, promised }) {
    const free = SLOTS - running.length;
    if (arrived === null) {
      const mayStart = heads.filter(({ id }) => !running.some((job) => job.id === promised.get(id)));
      return { start: mayStart.slice(0, Math.max(0, free)).map(({ id }) => id), preempt: [], promised: new Map() };
    }
    const victim = free > 0 ? undefined : running.find((job) => job.preemptible && !job.preempted && job.priority < arrived.priority);
    return victim === undefined
      ? { start: [], preempt: [], promised: new Map() }
      : { start: [], preempt: [victim.id], promised: new Map([[arrived.id, victim.id]]) };
  },
};

const STEPS = [
  'add',
  'add',
  'add',
  'add',
  'claim',
  'claim',
  'claim',
  'claim',
  'end',
  'end',
  'end',
  'end',
  'renew',
  'renew',
  'time',
  'time',
  'die',
  'leave',
  'note',
  'cancel',
  'retry',
  'resume',
  'hold',
  'release',
  'tidy',
  'clock back',
] as const;

/** What happens, and numbers that say to whom and how. */
interface Step {
  readonly what: (typeof STEPS)[number];
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

const number = fc.integer({ min: 0, max: 999 });
const step: fc.Arbitrary<Step> = fc.record({ what: fc.constantFrom(...STEPS), a: number, b: number, c: number });
const script = fc.array(step, { minLength: 10, maxLength: 45, size: 'max' });

interface Held extends Attempt {
  readonly holder: number;
  /** Until when its process may think that it has it. */
  until: number;
  /** It was asked to end. */
  isAsked: boolean;
}

/** Three processes on one store; `seen` is called after each step with what the step did. */
class World {
  now = START;
  readonly store;
  readonly held: Held[] = [];
  readonly #generation = [0, 0, 0];
  #made = 0;
  #added = 0;

  constructor(database: Store) {
    this.store = createJobStore(database, { now: () => this.now }, () => `told ${(this.#made += 1)}`);
  }

  rows(): Promise<readonly JobRow[]> {
    return this.store.list({ limit: 1_000 });
  }

  claim(holder: number, changes: Partial<Claim> = {}): Promise<readonly JobRow[]> {
    const told = JOBS.map(({ name, version }) => declared(`${name} ended`, { version, keep: false }));
    const jobs = new Map([...JOBS, ...told].map((job) => [job.name, job]));
    const name = `${holder} of ${this.#generation[holder]}`;
    const claim = { holder: name, jobs, policies: new Map([['x.lanes', POLICY]]), only: null, most: 4, ...changes };
    return this.store.claim(claim).then(({ taken }) => {
      for (const { id, fence } of taken) this.held.push({ id, fence, holder, until: this.now + LEASE_MS, isAsked: false });
      return taken;
    });
  }

  /** The answer of the store. */
  async take({ what, a, b, c }: Step): Promise<unknown> {
    const { store } = this;
    const holder = a % 3;
    const id = `${b % (this.#added + 1)}`;
    switch (what) {
      case 'add':
        return store.insert(this.#job(a, b, c), POLICY);
      case 'claim':
        return (await this.claim(holder)).map((row) => [row.id, row.fence]);
      case 'end': {
        const [attempt] = this.held.splice(b % Math.max(1, this.held.length), 1);
        if (attempt === undefined) return null;
        const row = await store.get(attempt.id);
        return store.settle(attempt, this.#outcome(a, c), row === null || JOBS.find(({ name }) => name === row.name)?.keep === true);
      }
      case 'renew': {
        const own = this.held.filter((each) => each.holder === holder);
        const stops = await store.renew(own);
        for (const each of own) {
          if (stops.get(each) === 'lost') this.held.splice(this.held.indexOf(each), 1);
          else each.until = this.now + LEASE_MS;
        }
        return [...stops.values()];
      }
      case 'leave':
      case 'die': {
        const own = this.held.filter((each) => each.holder === holder);
        if (what === 'leave') await store.leave(own);
        for (const each of own) this.held.splice(this.held.indexOf(each), 1);
        this.#generation[holder] = (this.#generation[holder] ?? 0) + 1;
        return null;
      }
      case 'time':
        this.now += [1, 500, 1_000, LEASE_MS, GRACE_MS, 70_000, HOUR_MS][a % 7] ?? 0;
        return null;
      case 'clock back':
        for (const each of this.held) each.until = each.until <= this.now ? 0 : Math.min(each.until, this.now - HOUR_MS + LEASE_MS);
        this.now -= HOUR_MS;
        return store.repairClock(300_000);
      case 'note': {
        const attempt = this.held[b % Math.max(1, this.held.length)];
        return attempt ? store.note(attempt, `${c}`) : null;
      }
      case 'cancel':
        return store.cancel(id, 'asked');
      case 'retry':
        return store.retry(id);
      case 'resume':
        return store.resume(id, `${c}`);
      case 'hold':
        return a % 2 === 0
          ? store.hold({ kind: 'name', value: 'x.a', until: c % 2 === 0 ? null : this.now + c, reason: 'test' })
          : store.hold({ kind: 'owner', value: `o${b % 2}`, until: null, reason: 'test' });
      case 'release':
        return a % 2 === 0 ? store.release('name', 'x.a') : store.release('owner', `o${b % 2}`);
      case 'tidy':
        return store.tidy();
    }
  }

  #job(a: number, b: number, c: number): Parameters<World['store']['insert']>[0] {
    const parent = b % 5 === 0 && this.#added > 0 ? `${c % this.#added}` : null;
    const id = `${this.#added}`;
    this.#added += 1;
    return newJob(['x.a', 'x.lanes', 'x.b'][a % 3] ?? '', {
      id,
      at: c % 7 === 0 ? this.now + c : null,
      lane: a % 3 === 1 && b % 4 > 0 ? `l${b % 2}` : null,
      owner: c % 3 === 0 ? null : `o${c % 2}`,
      priority: c % 4 === 1 ? 2 : 0,
      unique: b % 6 === 1 ? `u${c % 2}` : null,
      onOpen: c % 2 === 0 ? 'keep' : 'replace',
      sequence: c % 5 < 2 ? `s${c % 5}` : null,
      parent,
      inside: parent !== null && a % 2 === 0,
      preemptible: b % 2 === 0,
      mostAttempts: (b % 3) + 1,
      tells: a % 2 === 1,
    });
  }

  #outcome(a: number, c: number): Outcome {
    const later = this.now + [0, 1, 2_000][c % 3]!;
    const waits = [{ resume: true }, { until: later }, { jobs: [`${c % (this.#added + 1)}`], deadline: this.now + HOUR_MS }] as const;
    const outcomes: readonly Outcome[] = [
      { kind: 'done', result: 'null' },
      { kind: 'done', result: '1' },
      { kind: 'failed', error: { code: 'handler_failed', message: 'no' }, retryAt: later },
      { kind: 'again', at: later },
      { kind: 'returned', at: c % 2 === 0 ? null : later },
      { kind: 'wait', wait: waits[c % 3] ?? {} },
    ];
    return outcomes[a % outcomes.length]!;
  }
}

const BUSY = new Set(['running', 'suspended']);
const HOLDS_ITS_SEQUENCE = new Set(['waiting', 'failed', 'running', 'suspended']);

/** A matcher each time would take most of the time. */
function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not so: ${what}`);
}

/** What is true of all rows at any time. */
function check(rows: readonly JobRow[], world: World): void {
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const row of rows) {
    const others = rows.filter((each) => each !== row && each.name === row.name);
    const behind = row.sequence === null ? [] : others.filter(({ sequence }) => sequence === row.sequence);
    const isFirst = !behind.some(({ state, number: place }) => BUSY.has(state) || (place < row.number && HOLDS_ITS_SEQUENCE.has(state)));
    must(row.ready === (row.state === 'waiting' && isFirst), `${row.id} is ready where it waits and is the first of its sequence`);
    must(!BUSY.has(row.state) || !behind.some(({ state }) => BUSY.has(state)), `one of the sequence of ${row.id} runs`);
    must((row.ended !== null) === hasEnded(row), `${row.id} has a time of its end`);
    must((row.state === 'running') === (row.holder !== null && row.until !== null), `${row.id} has a holder while it runs`);
    must(row.state === 'suspended' || row.wait === null, `${row.id} waits for something while it is suspended`);
    const isTaken = row.unique !== null && !hasEnded(row) && others.some((each) => each.unique === row.unique && !hasEnded(each));
    must(!isTaken, `one is open for the unique of ${row.id}`);
    const parent = row.parent === null ? undefined : byId.get(row.parent);
    const isOver = parent === undefined || hasEnded(parent);
    must(!row.inside || !isOver || hasEnded(row) || row.stop !== null, `${row.id} ends with what it is inside of`);
  }
  for (const { name, concurrency } of JOBS) {
    const running = rows.filter((row) => row.name === name && row.state === 'running' && !row.inside);
    must(running.length <= concurrency, `${name} keeps its concurrency`);
    must(running.length <= 1 || !running.some(({ lost }) => lost >= 2), `what was lost twice runs alone of ${name}`);
    for (const lane of ['l0', 'l1']) must(running.filter((row) => row.lane === lane).length <= SLOTS, `lane ${lane} keeps its slots`);
  }
  for (const attempt of world.held) {
    const row = byId.get(attempt.id);
    const isHeld = row?.state === 'running' && row.fence === attempt.fence;
    if (isHeld) attempt.isAsked ||= row.stop !== null;
    must(isHeld || attempt.until <= world.now || attempt.isAsked, `${attempt.id} is taken only from one whose lease is over`);
  }
}

/** What is true of the rows before and after a step. */
function compare(before: readonly JobRow[], rows: readonly JobRow[], { what }: Step): void {
  const after = new Map(rows.map((row) => [row.id, row]));
  for (const was of before) {
    const row = after.get(was.id);
    if (row === undefined) {
      must(was.name === 'x.b' || was.name.endsWith(' ended') || what === 'tidy', `${was.id} is kept`);
      continue;
    }
    must(row.fence >= was.fence, `the fence of ${was.id} never goes back`);
    must(row.number === was.number, `${was.id} keeps its place`);
    must(row.state === was.state || row.changed > was.changed, `who watches is told of ${was.id}`);
  }
}

it('J2 J4 J6 J8 J9: whatever processes do in any order, die, stall, or set the clock, jobs keep their rules and all come to an end', async () => {
  const database = memoryStore();
  await fc.assert(
    fc.asyncProperty(script, async (steps) => {
      const world = new World(database);
      await empty(database);
      let before: readonly JobRow[] = [];
      for (const each of steps) {
        const answer = await world.take(each);
        const rows = await world.rows();
        check(rows, world);
        compare(before, rows, each);
        before = rows;
        const { id, added } = (each.what === 'add' ? answer : { id: '', added: false }) as { readonly id: string; readonly added: boolean };
        must(!added || rows.some((row) => row.id === id), `${id} is there once it was added`);
      }
      await allEnd(world);
      expect((await world.rows()).filter((row) => !hasEnded(row))).toEqual([]);
    }),
    { numRuns: isLong ? 10_000 : 1_000 },
  );
});

async function empty(database: Store): Promise<void> {
  await database.write((statement) => {
    for (const table of ['jobs', 'job_waits', 'job_notes', 'job_served', 'job_holds']) statement(`DELETE FROM ${table}`);
  });
}

/** Every process is gone; one that comes brings all to its end. */
async function allEnd(world: World): Promise<void> {
  for (const { kind, value } of await world.store.holds()) await world.store.release(kind, value);
  for (const a of [0, 1, 2]) await world.take({ what: 'die', a, b: 0, c: 0 });
  for (let round = 0; round < 200; round += 1) {
    const open = (await world.rows()).filter((row) => !hasEnded(row));
    if (open.length === 0) return;
    world.now += HOUR_MS;
    for (const { id, state } of open) if (state === 'suspended') await world.store.resume(id, 'null');
    for (const { id, fence } of await world.claim(0, { most: 100 }))
      await world.store.settle({ id, fence }, { kind: 'done', result: 'null' }, true);
  }
}
