import { describe, expect, it } from 'vitest';
import { PithError } from 'pith';
import { fakeClock, type FakeClock } from 'pith/testing';
import type { JobStore } from '../../../../core/durable/index.ts';
import { Postponed } from '../../../../core/kernel/index.ts';
import { gate } from '../../../waiting.ts';
import { declared, newJob, takenFrom } from './new-job.ts';
import { type Handler, worldOf } from './service-world.ts';

/** Waits for its signal, and says what it was told. */
const untilStopped =
  (reasons: unknown[]): Handler =>
  (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reasons.push((signal.reason as PithError).code);
        reject(signal.reason);
      });
    });

const never: Handler = () => new Promise(() => undefined);

/** A clock of one process, whose timers do not run while the process stands still. */
function stallable(clock: FakeClock) {
  let held: (() => void)[] | null = null;
  const stalled: FakeClock = {
    ...clock,
    after: (ms, run) => clock.after(ms, () => (held === null ? run() : void held.push(run))),
  };
  return {
    clock: stalled,
    stall: () => void (held = []),
    wake() {
      const waiting = held ?? [];
      held = null;
      for (const run of waiting) run();
    },
  };
}

describe('J7: the loop', () => {
  it('J7: begins what this process added at once, and what another added within 300 ms', async () => {
    const world = worldOf();
    const began: string[] = [];
    const work =
      (who: string): Handler =>
      async ({ payload }) =>
        void began.push(`${who} ${String(payload)}`);
    const one = world.idle({ 'a.x': work('one') });
    const two = world.idle({ 'b.x': work('two') });
    one.service.start();
    two.service.start();
    await world.pass(1_000);
    await one.add('a.x', { payload: '1' });
    await world.pass(1);
    expect(began).toEqual(['one 1']);
    await one.add('b.x', { payload: '2' });
    await world.pass(299);
    expect(began).toEqual(['one 1', 'two 2']);
  });

  it('J7: begins a job at its time, also where it was added before the process was there', async () => {
    const world = worldOf();
    const began: number[] = [];
    const due = world.clock.now() + 7_777;
    await world.store.insert(newJob('a.x', { at: due }), null);
    world.process({ 'a.x': async () => void began.push(world.clock.now() - due) });
    await world.pass(8_000);
    expect(began).toEqual([0]);
  });

  it('J7: asks an idle store for its revision four times a second, and for nothing else', async () => {
    const world = worldOf();
    const calls = new Map<string, number>();
    const counted = (store: JobStore): JobStore =>
      new Proxy(store, {
        get(target, name: keyof JobStore) {
          calls.set(name, (calls.get(name) ?? 0) + 1);
          return target[name];
        },
      });
    const { add } = world.process({ 'a.x': async () => undefined }, { over: counted });
    await add('a.x');
    await add('a.x', { at: world.clock.now() + 3_600_000 });
    await world.store.putSchedule({
      id: 'a.t',
      cron: '0 4 * * *',
      zone: 'UTC',
      job: { name: 'a.x', version: 1, payload: '{}', mostAttempts: 8, tells: false },
      missed: 'once',
      within: null,
      next: world.clock.now() + 4 * 3_600_000,
    });
    await world.pass(2_000);
    calls.clear();
    await world.pass(20_000);
    expect(Object.fromEntries(calls)).toEqual({ revision: 80 });
  });

  it('J4: takes whatever waits, and never more of a name than its concurrency', async () => {
    const world = worldOf();
    let [running, most, done] = [0, 0, 0];
    const work: Handler = async () => {
      most = Math.max(most, (running += 1));
      await world.clock.sleep(10);
      running -= 1;
      done += 1;
    };
    const jobs = [declared('a.x', { concurrency: 5 })];
    const processes = [1, 2].map(() => world.idle({ 'a.x': work }, { jobs }));
    for (let count = 0; count < 60; count += 1) await world.store.insert(newJob('a.x'), null);
    for (const { service } of processes) service.start();
    await world.pass(2_000);
    expect({ most, done }).toEqual({ most: 5, done: 60 });
  });

  it('J4: takes many at once where many may run', async () => {
    const world = worldOf();
    let running = 0;
    const { service } = world.idle(
      { 'a.x': () => ((running += 1), never(null as never, null as never)) },
      { jobs: [declared('a.x', { concurrency: 150 })] },
    );
    for (let count = 0; count < 200; count += 1) await world.store.insert(newJob('a.x'), null);
    service.start();
    await world.pass(100);
    expect(running).toBe(150);
  });
});

describe('J6: leases', () => {
  it('J6: are renewed while a handler works, however long', async () => {
    const world = worldOf();
    const began: string[] = [];
    const [one, two] = ['one', 'two'].map((who) => world.idle({ 'a.x': async () => (began.push(who), world.clock.sleep(20_000)) }));
    one?.service.start();
    await world.pass(500);
    const id = (await one?.add('a.x')) as string;
    two?.service.start();
    await world.pass(21_000);
    expect(began).toEqual(['one']);
    expect(await world.store.get(id)).toMatchObject({ state: 'done', lost: 0, fence: 1 });
  });

  it('J6: of a process that stood still go to another; it aborts what ran, writes nothing, and names it in the log', async () => {
    const world = worldOf();
    const { clock, stall, wake } = stallable(world.clock);
    const reasons: unknown[] = [];
    const end = gate();
    const slow: Handler = async (_, signal) => {
      signal.addEventListener('abort', () => reasons.push((signal.reason as PithError).code));
      await end.opened;
      return 'of the first';
    };
    const one = world.process({ 'a.x': slow }, { clock });
    const id = await one.add('a.x');
    await world.pass(500);
    const attempts: number[] = [];
    world.process({ 'a.x': async ({ attempt }) => (attempts.push(attempt), 'of the second') });
    stall();
    await world.pass(10_000);
    wake();
    await world.pass(100);
    expect(reasons).toEqual(['lease_lost']);
    expect(one.lines).toEqual([expect.stringMatching(/^jobs a\.x: the process did not respond for 1\d s/)]);
    end.open();
    await world.pass(1_000);
    expect(await world.store.get(id)).toMatchObject({ state: 'done', result: '"of the second"', fence: 2, attempts: 0 });
    expect(attempts).toEqual([1]);
  });

  it('J6: of a process that stood still and is alone stay with it', async () => {
    const world = worldOf();
    const { clock, stall, wake } = stallable(world.clock);
    const end = gate();
    const one = world.process({ 'a.x': async () => (await end.opened, 'late') }, { clock });
    const id = await one.add('a.x');
    await world.pass(500);
    stall();
    await world.pass(10_000);
    wake();
    await world.pass(100);
    end.open();
    await world.pass(100);
    expect(await world.store.get(id)).toMatchObject({ state: 'done', result: '"late"', fence: 1, lost: 0 });
  });

  it('J6: that cannot be renewed abort what runs before another process may have it', async () => {
    const world = worldOf();
    const reasons: unknown[] = [];
    const { over, full } = fullDisk();
    const one = world.process({ 'a.x': untilStopped(reasons) }, { over });
    const id = await one.add('a.x');
    await world.pass(500);
    full(true);
    await world.pass(2_000);
    expect(reasons).toEqual([]);
    await world.pass(2_500);
    expect(reasons).toEqual(['lease_lost']);
    full(false);
    await world.pass(3_000);
    expect(await world.store.get(id)).toMatchObject({ state: 'running', fence: 2, attempts: 0, lost: 0 }); // it was given back, and begun again
  });

  it('J4: a clock that is set back by a day stops neither renewals nor retries', async () => {
    const base = fakeClock();
    let shift = 0;
    const world = worldOf({ ...base, now: () => base.now() + shift });
    let attempts = 0;
    const flaky: Handler = async () => {
      attempts += 1;
      if (attempts < 3) throw new Error('not yet');
    };
    const began: string[] = [];
    const one = world.process({ 'a.x': flaky, 'a.long': async () => (began.push('one'), world.clock.sleep(30_000)) });
    const id = await one.add('a.x');
    const long = await one.add('a.long');
    await world.pass(500);
    shift = -86_400_000;
    await world.pass(500);
    world.process({ 'a.long': async () => void began.push('two') });
    await world.pass(10_000);
    expect((await world.store.get(id))?.state).toBe('done');
    expect(began).toEqual(['one']);
    expect((await world.store.get(long))?.state).toBe('running');
  });
});

describe('J8: a stop', () => {
  it('J8: of a job in whichever process aborts its signal within 300 ms, and frees the slot when it has ended', async () => {
    const world = worldOf();
    const reasons: unknown[] = [];
    const jobs = [declared('a.x', { concurrency: 1 })];
    const one = world.idle({ 'a.x': untilStopped(reasons) }, { jobs });
    const two = world.idle({}, { jobs });
    one.service.start();
    const [first, second] = [await one.add('a.x'), await one.add('a.x')];
    await world.pass(500);
    await two.store.cancel(first, 'by ann');
    await world.pass(299);
    expect(reasons).toEqual(['cancelled']);
    expect(await world.store.get(first)).toMatchObject({ state: 'cancelled', error: { code: 'cancelled', message: 'by ann' } });
    expect((await world.store.get(second))?.state).toBe('running');
  });

  it('J8: waits five seconds for a handler that does not listen; only then is the slot free', async () => {
    const world = worldOf();
    const one = world.process({ 'a.x': never }, { jobs: [declared('a.x', { concurrency: 1 })] });
    const [first, second] = [await one.add('a.x'), await one.add('a.x')];
    await world.pass(500);
    await one.store.cancel(first, '');
    one.service.wake();
    await world.pass(4_900);
    expect((await world.store.get(second))?.state).toBe('waiting');
    await world.pass(200);
    expect((await world.store.get(first))?.state).toBe('cancelled');
    expect((await world.store.get(second))?.state).toBe('running');
  });

  it('J8: of a process gives back at once what has settled, at no cost; the rest runs out, at no cost either', async () => {
    const world = worldOf();
    const one = world.process({ 'a.good': untilStopped([]), 'a.deaf': never });
    const [good, deaf] = [await one.add('a.good'), await one.add('a.deaf')];
    await world.pass(500);
    const began: string[] = [];
    const note =
      (name: string): Handler =>
      async () =>
        void began.push(name);
    world.process({ 'a.good': note('good'), 'a.deaf': note('deaf') });
    let stopped = false;
    void one.service.stop().then(() => (stopped = true));
    await world.pass(400);
    expect(began).toEqual(['good']);
    await world.pass(4_500);
    expect(stopped).toBe(false);
    expect(began).toEqual(['good']);
    await world.pass(200);
    expect(stopped).toBe(true);
    await world.pass(3_000);
    expect(began).toEqual(['good', 'deaf']);
    for (const id of [good, deaf]) expect(await world.store.get(id)).toMatchObject({ state: 'done', attempts: 0, lost: 0 });
    expect(one.lines).toEqual([]);
  });

  it('J9: of a process during a job of one attempt repeats nothing', async () => {
    const world = worldOf();
    const one = world.process({ 'a.x': untilStopped([]) });
    const id = await one.add('a.x', { mostAttempts: 1 });
    await world.pass(500);
    world.process({ 'a.x': async () => null });
    void one.service.stop();
    await world.pass(500);
    expect(await world.store.get(id)).toMatchObject({ state: 'dead', fence: 1, error: { code: 'lost' } });
  });

  it('J8: a process that stopped begins nothing, and has no timer left', async () => {
    const world = worldOf();
    const began: string[] = [];
    const one = world.process({ 'a.x': async () => void began.push('x') });
    await world.pass(500);
    await one.service.stop();
    await one.add('a.x');
    one.service.wake();
    await world.pass(1_000);
    expect(began).toEqual([]);
    expect(world.clock.pending()).toBe(0);
  });
});

/** A store whose disk can be full. */
function fullDisk() {
  let isFull = false;
  const writes: ReadonlySet<string | symbol> = new Set(['settle', 'renew', 'claim', 'hold', 'leave']);
  const over = (store: JobStore): JobStore =>
    new Proxy(store, {
      get(target, name: keyof JobStore) {
        if (!isFull || !writes.has(name)) return target[name];
        return () => Promise.reject(new PithError('database_failed', 'the disk is full'));
      },
    });
  return { over, full: (is: boolean) => void (isFull = is) };
}

describe('J9: attempts', () => {
  it('J9: that fail are made again with back-off, until the last', async () => {
    const world = worldOf();
    const times: number[] = [];
    const one = world.process({
      'a.x': async ({ attempt }) => {
        times.push(world.clock.now());
        throw new PithError('broken', `attempt ${attempt}`);
      },
    });
    const id = await one.add('a.x', { mostAttempts: 3 });
    await world.pass(10_000);
    expect(await world.store.get(id)).toMatchObject({ state: 'dead', attempts: 3, error: { code: 'broken', message: 'attempt 3' } });
    const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(waits.map((wait) => Math.round(wait / 1_000))).toEqual([1, 2]);
  });

  it.each([
    [
      'whose handler is not there wait a second, and have not failed',
      () => new Postponed(new Error('it is reloaded')),
      { state: 'done', attempts: 0 },
    ],
    ['whose payload nobody can read are dead', () => new PithError('job_outdated', 'no migrate'), { state: 'dead', attempts: 1 }],
    ['that a provider limits wait, and have not failed', () => new PithError('model_rate_limited', '429'), { state: 'done', attempts: 0 }],
  ])('J9 J11: %s', async (_, error, expected) => {
    const world = worldOf();
    let calls = 0;
    const one = world.process({
      'a.x': async () => {
        if ((calls += 1) === 1) throw error();
      },
    });
    const id = await one.add('a.x');
    await world.pass(500);
    expect(calls).toBe(1);
    await world.pass(1_500);
    expect(await world.store.get(id)).toMatchObject(expected);
  });

  it('J9: that take longer than their time are aborted, and have failed after the grace', async () => {
    const world = worldOf();
    const reasons: unknown[] = [];
    const jobs = ['a.x', 'a.deaf'].map((name) => declared(name, { timeout_ms: 2_000 }));
    const one = world.process({ 'a.x': untilStopped(reasons), 'a.deaf': never }, { jobs });
    const [heard, deaf] = [await one.add('a.x', { mostAttempts: 1 }), await one.add('a.deaf', { mostAttempts: 1 })];
    await world.pass(2_100);
    expect(reasons).toEqual(['job_timeout']);
    expect(await world.store.get(heard)).toMatchObject({ state: 'dead', error: { code: 'job_timeout' } });
    expect((await world.store.get(deaf))?.state).toBe('running');
    await world.pass(5_000);
    expect(await world.store.get(deaf)).toMatchObject({ state: 'dead', error: { code: 'job_timeout' } });
  });

  it('J9: whose end cannot be written are not made again; it is written once the disk is free, and the first error is told', async () => {
    const world = worldOf();
    let calls = 0;
    const { over, full } = fullDisk();
    const end = gate();
    const one = world.process({ 'a.x': async () => ((calls += 1), await end.opened, 'result') }, { over });
    const id = await one.add('a.x');
    await world.pass(500);
    full(true);
    end.open();
    await world.pass(30_000);
    expect(one.lines).toEqual([expect.stringContaining('the disk is full')]);
    full(false);
    await world.pass(1_500);
    expect(await world.store.get(id)).toMatchObject({ state: 'done', result: '"result"', fence: 1 });
    expect(calls).toBe(1);
    full(true);
    await one.add('a.x');
    await world.pass(3_000);
    full(false);
    await world.pass(3_000);
    expect(one.lines).toHaveLength(2);
    expect(calls).toBe(2);
  });

  it('J1: end without a failure with `again` and `wait`', async () => {
    const world = worldOf();
    const seen: unknown[] = [];
    const ends = [
      { kind: 'again' as const, at: world.clock.now() + 5_000 },
      { kind: 'wait' as const, wait: { until: world.clock.now() + 60_000, resume: true as const } },
      { kind: 'done' as const, result: '1' },
    ];
    const one = world.idle({
      'a.x': async ({ resumed, attempt }) => (seen.push([resumed?.by, resumed?.value, attempt, world.clock.now()]), ends[seen.length - 1]),
    });
    const start = world.clock.now();
    one.service.start();
    const id = await one.add('a.x');
    await world.pass(10_000);
    await one.store.resume(id, '{"answer":42}');
    one.service.wake();
    await world.pass(100);
    expect(seen).toEqual([
      [undefined, undefined, 1, start],
      [undefined, undefined, 1, start + 5_000],
      ['resume', { answer: 42 }, 1, start + 10_000],
    ]);
    expect((await world.store.get(id))?.state).toBe('done');
  });
});

describe('J11: a provider that limits requests', () => {
  const limited =
    (calls: string[]): Handler =>
    async ({ payload }) => {
      calls.push(String(payload));
      if (calls.length < 3) throw new PithError('model_rate_limited', 'too many requests (429)');
    };
  const policy = {
    rules: () => null,
    pick: ({ heads, running }: { heads: readonly { id: string }[]; running: readonly unknown[] }) => ({
      start: running.length === 0 ? heads.slice(0, 1).map(({ id }) => id) : [],
      preempt: [],
      promised: new Map<string, string>(),
    }),
  };

  it('J11: holds its lane, longer each time, and no other', async () => {
    const world = worldOf();
    const calls: string[] = [];
    const jobs = [declared('a.x', { lanes: true, concurrency: 9 })];
    const one = world.process({ 'a.x': limited(calls) }, { jobs, policies: new Map([['a.x', policy]]) });
    await one.add('a.x', { lane: 'l', payload: '1' });
    await one.add('a.x', { lane: 'l', payload: '2' });
    await world.pass(500);
    expect(calls).toEqual(['1']);
    expect(await world.store.holds()).toMatchObject([{ kind: 'lane', value: 'a.l', reason: 'too many requests (429)' }]);
    await one.add('a.x', { lane: 'other', payload: '3' });
    await world.pass(100);
    expect(calls).toEqual(['1', '3']);
    await world.pass(5_000);
    expect(calls).toEqual(['1', '3', expect.anything(), expect.anything(), expect.anything()]);
    expect(await world.store.count({ states: ['done'] })).toBe(3);
  });

  it.each([
    ['as long as it asks for', 60_000, 60_000],
    ['at least a second', 0, 1_000],
    ['at most a day', 1e12, 86_400_000],
    ['by the back-off where it asks for nothing that is a time', Number.NaN, 1_000],
  ])('J11: holds its lane %s', async (_, retryAfterMs, expected) => {
    const world = worldOf();
    const one = world.process(
      { 'a.x': () => Promise.reject(new PithError('model_rate_limited', '429', { retryAfterMs })) },
      { jobs: [declared('a.x', { lanes: true })], policies: new Map([['a.x', policy]]) },
    );
    const began = world.clock.now();
    const id = await one.add('a.x', { lane: 'l' });
    await world.pass(100);
    const [hold] = await world.store.holds();
    const held = (hold?.until ?? 0) - began;
    expect(Math.abs(held - expected)).toBeLessThanOrEqual(200);
    expect(await world.store.get(id)).toMatchObject({ attempts: 0, at: hold?.until });
  });

  it('J11: what it asked for is kept where another process begins', async () => {
    const world = worldOf();
    const until = world.clock.now() + 3_600_000;
    const id = 'limited';
    await world.store.insert(newJob('a.x', { id }), null);
    await takenFrom(world.store, 'a.x');
    await world.store.settle({ id, fence: 1 }, { kind: 'returned', at: until }, true);
    world.process({ 'a.x': async () => undefined });
    await world.pass(2_000);
    expect(await world.store.get(id)).toMatchObject({ state: 'failed', at: until });
  });

  it('J11: does not end a hold that a person made', async () => {
    const world = worldOf();
    const release = gate();
    const one = world.process(
      { 'a.x': async () => (await release.opened, Promise.reject(new PithError('model_rate_limited', '429'))) },
      { jobs: [declared('a.x', { lanes: true })], policies: new Map([['a.x', policy]]) },
    );
    await one.add('a.x', { lane: 'l' });
    await world.pass(100);
    await world.store.hold({ kind: 'lane', value: 'l', until: null, reason: 'by ann' });
    release.open();
    await world.pass(2_000);
    expect(await world.store.holds()).toMatchObject([{ until: null, reason: 'by ann' }]);
  });
});

it('J5: code with the policy of a lane is loaded when work waits in it, and not at each look where it brings none', async () => {
  const world = worldOf();
  const loads: number[] = [];
  const one = world.process(
    { 'a.x': never },
    { jobs: [declared('a.x', { lanes: true })], load: async () => void loads.push(world.clock.now()) },
  );
  await world.pass(500);
  expect(loads).toEqual([]);
  await one.add('a.x', { lane: 'l' });
  await world.pass(4_000);
  expect(loads).toHaveLength(1);
  await world.pass(5_000);
  expect(loads).toHaveLength(2);
});

describe('J9: an extension is told of a job that ended otherwise than by its handler', () => {
  it('J9: at least once, and again where it could not be told', async () => {
    const world = worldOf();
    const told: unknown[] = [];
    const one = world.process(
      { 'a.x': never },
      {
        notify: async (name, { id, state, error }) => {
          told.push([name, id, state, error?.message]);
          if (told.length === 1) throw new Error('not now');
        },
      },
    );
    const id = await one.add('a.x', { tells: true, at: world.clock.now() + 60_000 });
    await one.store.cancel(id, 'by ann');
    one.service.wake();
    await world.pass(3_000);
    expect(told).toEqual([
      ['a.x', id, 'cancelled', 'by ann'],
      ['a.x', id, 'cancelled', 'by ann'],
    ]);
    expect(await world.store.list({ prefix: 'a.x ended', limit: 9 })).toEqual([]);
  });
});

it('J9 J16: the end of a job that its extension declares no more is told and forgotten, that of a missing extension waits', async () => {
  const world = worldOf();
  const told: string[] = [];
  const one = world.process({ 'a.x': never }, { notify: async (name) => void told.push(name) });
  for (const name of ['a.former', 'b.gone']) await one.store.cancel(await one.add(name, { tells: true, version: 4 }), 'by ann');
  one.service.wake();
  await world.pass(1_000);
  expect(told).toEqual(['a.former']);
  expect((await world.store.list({ states: ['waiting'], limit: 9 })).map(({ name }) => name)).toEqual(['b.gone ended']);
});

it('J9, J14: an extension is not told of an end that a retry has taken back', async () => {
  const world = worldOf();
  const told: string[] = [];
  const one = world.idle({ 'a.x': never, 'a.y': never }, { notify: async (_, { id }) => void told.push(id) });
  const [back, ended] = [await one.add('a.x', { tells: true }), await one.add('a.y', { tells: true })];
  for (const id of [back, ended]) await one.store.cancel(id, 'by ann');
  await one.store.retry(back);
  one.service.start();
  await world.pass(1_000);
  expect(told).toEqual([ended]);
  expect(await world.store.get(back)).toMatchObject({ state: 'running' });
  expect(await world.store.list({ prefix: 'a.x ended', limit: 9 })).toEqual([]);
});

describe('J7: who waits for a job', () => {
  it('J7 J11: is told why it does not begin, and when that changes', async () => {
    const world = worldOf();
    const jobs = [declared('a.x', { concurrency: 1, version: 2 }), declared('a.y', { lanes: true })];
    const one = world.process({ 'a.x': never }, { jobs });
    const first = await one.add('a.x', { sequence: 's' });
    await world.pass(300);
    const whys = async (id: string) => (await one.service.info((await world.store.get(id))!)).whyWaiting;
    expect(await whys(first)).toBe(null);
    expect(await whys(await one.add('a.x', { sequence: 's' }))).toBe('another job of its sequence is before it');
    expect(await whys(await one.add('a.x', { version: 3 }))).toBe('a newer version of its extension has added it');
    expect(await whys(await one.add('a.gone'))).toBe(`no extension that is on has jobs 'a.gone'`);
    expect(await whys(await one.add('a.gone ended'))).toBe(null); // the kernel's own
    expect(await whys(await one.add('a.y', { lane: 'empty' }))).toBe(null); // nobody works on it
    const last = await one.add('a.x', { owner: 'ada' });
    const seen: (string | null)[] = [];
    void (async () => {
      for await (const { whyWaiting } of one.service.watch(last)) seen.push(whyWaiting);
    })().catch(() => undefined); // it ends with the process
    await world.pass(300);
    await world.store.hold({ kind: 'owner', value: 'ada', until: null, reason: 'on holiday' });
    await world.pass(300);
    await world.store.release('owner', 'ada');
    await world.pass(300);
    const full = `'a.x' has 1 running, the most at once`;
    expect(seen).toEqual([full, `owner 'ada' is paused: on holiday`, full]);
  });

  it('J7 J11: asks of itself alone only when that has changed, whoever else waits, and learns of a pause in another process', async () => {
    const world = worldOf();
    const asked: string[] = [];
    const over = (store: JobStore): JobStore =>
      new Proxy(store, { get: (target, name: keyof JobStore) => (asked.push(name), target[name]) });
    const one = world.process({ 'a.x': never }, { jobs: [declared('a.x', { concurrency: 1 })], over });
    await one.add('a.x');
    await world.pass(300);
    const seen: unknown[] = [];
    for (const owner of ['ada', 'ben', 'cem']) {
      const id = await one.add('a.x', { owner });
      void (async () => {
        for await (const { whyWaiting } of one.service.watch(id)) seen.push([owner, whyWaiting]);
      })().catch(() => undefined); // it ends with the process
      await world.pass(600);
    }
    const full = `'a.x' has 1 running, the most at once`;
    expect(seen.splice(0)).toEqual([
      ['ada', full],
      ['ben', full],
      ['cem', full],
    ]);
    asked.length = 0;
    await world.pass(2_000);
    const times = (name: string) => asked.filter((each) => each === name).length;
    expect(['get', 'notes', 'list'].map(times)).toEqual([0, 0, 0]);
    expect(['holds', 'running'].map(times)).toEqual([times('changesSince'), times('changesSince')]);
    await world.store.hold({ kind: 'owner', value: 'cem', until: null, reason: 'on holiday' });
    await world.pass(300);
    expect(seen).toEqual([['cem', `owner 'cem' is paused: on holiday`]]);
  });

  it('J7: sees its states and notes as they change in another process, until its end', async () => {
    const world = worldOf();
    const step = gate();
    const end = gate();
    const one = world.idle({
      'a.x': async ({ id, fence }) => {
        await step.opened;
        await world.store.note({ id, fence }, '"half"');
        await end.opened;
        return 'all';
      },
    });
    const two = world.idle({});
    const id = await two.add('a.x', { at: world.clock.now() + 1_000 });
    const seen: unknown[] = [];
    const watching = (async () => {
      for await (const { state, notes, result } of two.service.watch(id)) seen.push([state, notes.map(({ data }) => data), result]);
    })();
    await world.pass(100);
    one.service.start();
    await world.pass(1_500);
    step.open();
    await world.pass(300);
    end.open();
    await world.pass(300);
    await watching;
    expect(seen).toEqual([
      ['scheduled', [], null],
      ['running', [], null],
      ['running', ['half'], null],
      ['done', ['half'], 'all'],
    ]);
    await one.service.stop();
    await world.pass(300);
    expect(world.clock.pending()).toBe(0); // nothing is asked for those who have gone
  });

  it('J7: stops when its signal aborts, or its process stops', async () => {
    const world = worldOf();
    const one = world.idle({});
    const id = await one.add('a.x');
    const abort = new AbortController();
    const waits = [one.service.finished(id, abort.signal), one.service.finished(id)].map((wait) => wait.catch((error: unknown) => error));
    await world.pass(300);
    abort.abort(new Error('enough'));
    expect(await waits[0]).toMatchObject({ message: 'enough' });
    await one.service.stop();
    expect(await waits[1]).toMatchObject({ code: 'stopped' });
    await expect(one.service.finished('01NONE')).rejects.toMatchObject({ code: 'job_unknown' });
  });

  it.each([
    ['its name', null, 'a.x 1'],
    ['its lane', 'l', 'a.x 1'],
  ])('J7: serves %s until it begins, and what is inside it, where the process serves nothing else', async (_, lane, expected) => {
    const world = worldOf();
    const began: string[] = [];
    const policy = {
      rules: () => null,
      pick: ({ heads }: { heads: readonly { id: string }[] }) => ({ start: heads.map(({ id }) => id), preempt: [], promised: new Map() }),
    };
    const work: Handler = async ({ name, payload }) => void began.push(`${name} ${String(payload)}`);
    const one = world.idle(
      {
        'a.x': async (job, signal) => {
          await work(job, signal);
          if (job.payload !== 1) return;
          await one.service.finished(await one.add('a.part', { parent: job.id, inside: true, payload: '3' }));
          await one.add('a.x', { lane, payload: '6' }); // it would be cut when this one ends
          await world.clock.sleep(500);
        },
        'a.part': work,
        'b.y': work,
      },
      { jobs: [declared('a.x', { lanes: lane !== null }), declared('a.part'), declared('b.y')], policies: new Map([['a.x', policy]]) },
    );
    const id = await one.add('a.x', { lane, payload: '1' });
    await one.add('a.x', { lane: lane && 'other', payload: '2' });
    await one.add('b.y', { payload: '4' });
    await world.pass(500);
    expect(began).toEqual([]);
    const ends = [one.service.finished(id), one.service.finished(id)];
    await world.pass(1_000);
    expect((await Promise.all(ends)).map(({ state }) => state)).toEqual(['done', 'done']);
    expect(began.sort()).toEqual(['a.part 3', ...expected.split('|')].sort());
    await one.add('a.x', { lane, payload: '5' });
    await world.pass(500);
    expect(began).toHaveLength(expected.split('|').length + 1);
    expect(world.clock.pending()).toBe(0);
  });

  it('J7: serves those that the job waits for, where the process serves nothing else', async () => {
    const world = worldOf();
    const one = world.idle(
      {
        'a.x': async (job) => (job.resumed ? { kind: 'done', result: '2' } : { kind: 'wait', wait: { jobs: [await one.add('b.y')] } }),
        'b.y': async () => undefined,
        'c.z': async () => undefined,
      },
      { jobs: [declared('a.x'), declared('b.y'), declared('c.z')] },
    );
    const other = await one.add('c.z');
    const end = one.service.finished(await one.add('a.x'));
    await world.pass(1_000);
    expect(await end).toMatchObject({ state: 'done', result: 2 });
    expect(await world.store.get(other)).toMatchObject({ state: 'waiting' });
    expect(world.clock.pending()).toBe(0);
  });
});

describe('J10: timetables', () => {
  const timetable = (changes: object = {}) => ({
    id: 'a.t',
    cron: '0 * * * *',
    zone: 'UTC',
    job: { name: 'a.x', version: 1, payload: '{}', mostAttempts: 8, tells: false },
    missed: 'once' as const,
    within: null,
    ...changes,
  });
  const HOUR = 3_600_000;

  it('J10: each tick is one job at its time, over two processes', async () => {
    const world = worldOf(fakeClock(Date.UTC(2026, 0, 1, 0, 59, 55)));
    const start = Date.UTC(2026, 0, 1);
    const ticks: unknown[] = [];
    const work: Handler = async ({ payload, sequence }) => void ticks.push([payload, sequence, world.clock.now() - start]);
    const processes = [1, 2].map(() => world.idle({ 'a.x': work }));
    for (const { service } of processes) service.start();
    await world.store.putSchedule({ ...timetable(), next: start + HOUR });
    await world.pass(10_000);
    expect(ticks).toEqual([[{ at: start + HOUR }, 'a.t', HOUR]]);
    expect((await world.store.schedules())[0]?.next).toBe(start + 2 * HOUR);
  });

  it('J10: what was missed is one job, two of which begin at a time; a timetable that was put again keeps what it missed', async () => {
    const world = worldOf(fakeClock(Date.UTC(2026, 0, 1, 12, 30)));
    const start = Date.UTC(2026, 0, 1);
    let [running, most, done] = [0, 0, 0];
    const work: Handler = async () => {
      most = Math.max(most, (running += 1));
      await world.clock.sleep(500);
      running -= 1;
      done += 1;
    };
    for (const number of [1, 2, 3, 4, 5]) {
      await world.store.putSchedule({ ...timetable({ id: `a.t${number}` }), next: start });
      await world.store.putSchedule({ ...timetable({ id: `a.t${number}` }), next: start + 13 * HOUR });
    }
    await world.store.putSchedule({ ...timetable({ id: 'a.skips', missed: 'skip' }), next: start });
    await world.store.putSchedule({ ...timetable({ id: 'b.off', job: { ...timetable().job, name: 'b.x' } }), next: start });
    world.process({ 'a.x': work });
    await world.pass(3_000);
    expect({ most, done }).toEqual({ most: 2, done: 5 });
    const [skipped, ...more] = await world.store.list({ names: ['a.x'], states: ['cancelled'], limit: 9 });
    expect(more).toEqual([]);
    expect(skipped).toMatchObject({ sequence: 'a.skips', error: { code: 'missed', message: 'its time was missed' } });
    const next = new Map((await world.store.schedules()).map((row) => [row.id, row.next]));
    expect(next.get('a.t1')).toBe(start + 13 * HOUR);
    expect(next.get('b.off')).toBe(start); // its extension is off: what it misses is one job later
  });

  it('J10: a clock that was ahead for a month before this process began stops none', async () => {
    const world = worldOf(fakeClock(Date.UTC(2026, 0, 1, 0, 30)));
    await world.store.putSchedule({ ...timetable(), next: Date.UTC(2026, 1, 1) });
    world.process({ 'a.x': async () => undefined });
    await world.pass(500);
    expect((await world.store.schedules())[0]?.next).toBe(Date.UTC(2026, 0, 1, 1));
    expect(await world.store.count({})).toBe(0);
  });

  it('J10: a timetable that cannot be read is told, and ends', async () => {
    const world = worldOf();
    await world.store.putSchedule({ ...timetable({ zone: 'Mars/Olympus' }), next: world.clock.now() });
    const one = world.process({ 'a.x': async () => undefined });
    await world.pass(500);
    expect(one.lines).toEqual([expect.stringMatching(/^timetable a\.t: it has ended; .*Mars\/Olympus/)]);
    expect((await world.store.schedules())[0]?.next).toBe(null);
  });
});

it('J3: what is kept no longer is deleted in steps, once an hour, and not in the first minute', async () => {
  const world = worldOf();
  const calls: number[] = [];
  const start = world.clock.now();
  const over = (store: JobStore): JobStore => ({
    ...store,
    tidy: async () => {
      calls.push(Math.floor((world.clock.now() - start) / 1_000));
      return calls.length === 1;
    },
  });
  world.process({}, { over });
  await world.clock.advance(3_700_000);
  expect(calls).toEqual([60, 60, 3_660]);
});
