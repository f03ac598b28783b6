import type { PithError } from 'pith';
import { describe, expect, it } from 'vitest';
import { type NewJob, type Outcome, ticksDue } from '../../../../core/durable/index.ts';
import { declared, newJob } from './new-job.ts';
import { DONE, storeWorld, type StoreWorld, STORES } from './store-world.ts';

const LEASE_MS = 3_000;
const DAY_MS = 86_400_000;

/** Its process is gone, and another takes it over. */
async function lose(world: StoreWorld, holder: string): Promise<string[]> {
  world.pass(LEASE_MS);
  return world.claim(holder);
}

describe.each(STORES)('J15: jobs %s', (_, open) => {
  const worldOf = (...changes: Parameters<typeof declared>[1][]): StoreWorld =>
    storeWorld(open(), changes.length === 0 ? undefined : changes.map((change) => declared(change?.name ?? 'x.a', change)));

  /** With these jobs. */
  const waiting = async (...ids: readonly string[]): Promise<StoreWorld> => {
    const world = worldOf();
    for (const id of ids) await world.add(id);
    return world;
  };
  /** Also begun by a process. */
  const running = async (...ids: readonly string[]): Promise<StoreWorld> => {
    const world = await waiting(...ids);
    await world.claim();
    return world;
  };

  describe('J1: how an attempt ends', () => {
    it('a failed one is tried again when its back-off is over, and dead after its attempts', async () => {
      const world = worldOf();
      await world.add('a', { mostAttempts: 2 });
      expect(await world.claim()).toEqual(['a']);
      await world.end('a', world.failed(1_000));
      expect(await world.row('a')).toMatchObject({ state: 'failed', attempts: 1, error: { message: 'no' }, holder: null });
      world.pass(999);
      expect(await world.claim()).toEqual([]);
      world.pass(1);
      expect(await world.claim()).toEqual(['a']);
      await world.end('a', world.failed());
      expect(await world.row('a')).toMatchObject({ state: 'dead', attempts: 2, ended: world.clock.at });
    });

    it('a failure that is final makes it dead at once', async () => {
      const world = await running('a');
      await world.end('a', { ...world.failed(), kind: 'failed', isFinal: true } as Outcome);
      expect(await world.state('a')).toBe('dead');
    });

    it('again starts it at that time and is no failure', async () => {
      const world = await running('a');
      await world.end('a', { kind: 'again', at: world.clock.at + 10 });
      expect([await world.state('a'), await world.claim()]).toEqual(['scheduled', []]);
      world.pass(10);
      expect(await world.claim()).toEqual(['a']);
      expect(await world.row('a')).toMatchObject({ attempts: 0, lost: 0, fence: 2, resumed: null });
    });

    it('J1: a wait for itself, for one that waits for it, or for one behind it ends it at once and says why', async () => {
      const world = worldOf();
      const wait = (...jobs: string[]): Outcome => ({ kind: 'wait', wait: { jobs } });
      const error = { code: 'not_allowed', message: expect.stringContaining('it would wait for ever') };
      for (const id of ['self', 'a', 'b', 'c']) await world.add(id);
      for (const id of ['first', 'behind']) await world.add(id, { sequence: 's' });
      await world.claim();
      await world.end('self', wait('self'));
      await world.end('a', wait('b'));
      await world.end('b', wait('c'));
      await world.end('c', wait('gone', 'a'));
      await world.end('first', wait('behind'));
      for (const id of ['self', 'c', 'first']) expect(await world.row(id)).toMatchObject({ state: 'dead', error });
      expect(await world.states('a', 'b', 'behind')).toBe('suspended ready ready');
    });

    it('again at a time that is over starts it in a second, so that it cannot spin', async () => {
      const world = await running('a');
      await world.end('a', { kind: 'again', at: -1 });
      world.pass(999);
      expect(await world.claim()).toEqual([]);
      world.pass(1);
      expect(await world.claim()).toEqual(['a']);
    });

    it.each<Outcome>([
      { kind: 'again', at: 0 },
      { kind: 'wait', wait: { until: 0 } },
    ])('$kind ends a row of failures: only those since then count', async (outcome) => {
      const world = worldOf();
      await world.add('a', { mostAttempts: 2 });
      for (const end of [world.failed(0), outcome, world.failed(0)]) {
        await world.claim();
        await world.end('a', end);
        world.pass(1_000);
      }
      expect(await world.row('a')).toMatchObject({ state: 'failed', attempts: 1 });
      await world.claim();
      await world.end('a', world.failed());
      expect(await world.state('a')).toBe('dead');
    });

    it.each<[string, (world: StoreWorld) => Promise<unknown>, object]>([
      ['until', async (world) => world.pass(100), { by: 'until', value: 'null' }],
      ['jobs', async (world) => (await world.end('one'), world.end('two', world.failed())), { by: 'jobs', value: 'null' }],
      ['resume', (world) => world.store.resume('a', '[1]'), { by: 'resume', value: '[1]' }],
    ])('a wait ends by the first of %s, with its value', async (_event, happen, resumed) => {
      const world = worldOf();
      for (const id of ['a', 'one', 'two']) await world.add(id, { mostAttempts: id === 'a' ? 8 : 1 });
      await world.claim();
      await world.end('a', { kind: 'wait', wait: { until: world.clock.at + 100, jobs: ['one', 'two'], resume: true } });
      expect([await world.state('a'), await world.claim()]).toEqual(['suspended', []]);
      await happen(world);
      expect(await world.claim()).toEqual(['a']);
      expect(await world.row('a')).toMatchObject({ resumed, wait: null, attempts: 0 });
      await world.end('a', world.failed(0)); // the attempt after it is told the same
      expect(await world.claim()).toEqual(['a']);
      expect(await world.row('a')).toMatchObject({ resumed });
    });

    it('a wait whose deadline passes first says so', async () => {
      const world = await running('a');
      await world.end('a', { kind: 'wait', wait: { until: world.clock.at + 500, deadline: world.clock.at + 20, resume: true } });
      world.pass(20);
      expect(await world.claim()).toEqual(['a']);
      expect(await world.row('a')).toMatchObject({ resumed: { by: 'deadline' } });
    });

    it('what has happened before the wait counts: jobs that have ended or are gone, times that are over, a resume', async () => {
      const world = await running('ended', 'gone', 'a', 'b', 'c', 'd');
      await world.end('ended', { ...world.failed(), kind: 'failed', isFinal: true } as Outcome);
      await world.end('gone', DONE, false);
      expect(await world.store.resume('c', '"early"')).toBe(true);
      await world.end('a', { kind: 'wait', wait: { jobs: ['ended', 'gone'] } });
      await world.end('b', { kind: 'wait', wait: { until: world.clock.at, resume: true } });
      await world.end('c', { kind: 'wait', wait: { resume: true } });
      await world.end('d', { kind: 'wait', wait: { jobs: [] } });
      expect(await world.claim()).toEqual(['a', 'b', 'c', 'd']);
      const resumed = async (id: string) => (await world.row(id)).resumed;
      expect(await resumed('a')).toEqual({ by: 'jobs', value: 'null' });
      expect(await resumed('b')).toEqual({ by: 'until', value: 'null' });
      expect(await resumed('c')).toEqual({ by: 'resume', value: '"early"' });
      await world.end('c', { kind: 'wait', wait: { resume: true } }); // the answer counted once
      expect(await world.state('c')).toBe('suspended');
    });

    it('resume says whether it has ended', async () => {
      const world = await running('a');
      await world.end('a');
      expect([await world.store.resume('a', '1'), await world.store.resume('unknown', '1')]).toEqual([false, false]);
    });

    it('a wait that ended by time is not ended once more by its jobs', async () => {
      const world = await running('a', 'b');
      await world.end('a', { kind: 'wait', wait: { jobs: ['b'], until: world.clock.at + 1 } });
      world.pass(1);
      expect(await world.claim()).toEqual(['a']);
      await world.end('a', { kind: 'wait', wait: { resume: true } });
      await world.end('b');
      expect(await world.state('a')).toBe('suspended');
    });
  });

  describe('J2: adding', () => {
    const begun = async (world: StoreWorld, outcome?: Outcome): Promise<void> => {
      await world.claim();
      if (outcome) await world.end('first', outcome);
    };
    it.each<[string, (world: StoreWorld) => Promise<void>, { readonly replace: 'first' | 'kept' | 'new' }]>([
      ['waits', async () => undefined, { replace: 'first' }],
      ['runs', (world) => begun(world), { replace: 'kept' }],
      ['waits for its retry', (world) => begun(world, world.failed()), { replace: 'kept' }],
      ['is suspended', (world) => begun(world, { kind: 'wait', wait: { resume: true } }), { replace: 'kept' }],
      ['has ended', (world) => begun(world, DONE), { replace: 'new' }],
    ])('unique, where one %s', async (_state, become, { replace }) => {
      for (const onOpen of ['keep', 'replace', 'fail'] as const) {
        const world = worldOf();
        await world.add('first', { unique: 'u', payload: '1' });
        await become(world);
        const answer = await world
          .add('second', { unique: 'u', payload: '2', onOpen })
          .catch(({ code, where }: PithError) => ({ code, where }));
        const isReplaced = onOpen === 'replace' && replace === 'first';
        const kept = onOpen === 'fail' ? { code: 'job_exists', where: 'first' } : { id: 'first', added: isReplaced };
        expect(answer).toEqual(replace === 'new' ? { id: 'second', added: true } : kept);
        expect((await world.row('first')).payload).toBe(isReplaced ? '2' : '1');
        expect(await world.store.count({})).toBe(replace === 'new' ? 2 : 1);
        expect(await world.add('other', { name: 'x.b', unique: 'u' })).toEqual({ id: 'other', added: true });
      }
    });

    it('what is replaced keeps its place and its parent, and takes everything else of the new one', async () => {
      const world = worldOf();
      await world.add('parent', { at: world.clock.at + DAY_MS });
      await world.add('a', { unique: 'u', sequence: 's', parent: 'parent' });
      await world.add('behind', { sequence: 's' });
      await world.add('b', { sequence: 't' });
      const { number } = await world.row('a');
      await world.add('c', { unique: 'u', onOpen: 'replace', sequence: 't', priority: 2, parent: 'a', inside: true });
      expect(await world.states('a', 'b', 'behind')).toBe('ready waiting ready');
      expect(await world.row('a')).toMatchObject({
        number,
        priority: 2,
        sequence: 't',
        at: world.clock.at,
        parent: 'parent',
        inside: false,
      });
    });

    it('the same id is added once', async () => {
      const world = worldOf();
      expect([(await world.add('a')).added, (await world.add('a')).added]).toEqual([true, false]);
    });

    it.each<[string, (world: StoreWorld) => Promise<unknown>, boolean]>([
      ['runs', async () => undefined, true],
      ['waits for its retry', (world) => world.end('a', world.failed()), true],
      ['was given back for later', (world) => world.end('a', { kind: 'returned', at: world.clock.at + 1_000 }), true],
      ['is suspended', (world) => world.end('a', { kind: 'wait', wait: { resume: true } }), true],
      ['starts again at a time', (world) => world.end('a', { kind: 'again', at: world.clock.at + 1_000 }), false],
      ['is done', (world) => world.end('a'), false],
      ['is dead', (world) => world.end('a', { ...world.failed(), isFinal: true } as Outcome), false],
    ])('one of a sequence that %s holds those behind it: %#', async (_state, become, holds) => {
      const world = worldOf();
      for (const id of ['a', 'b', 'c']) await world.add(id, { sequence: 's' });
      await world.add('other', { sequence: 't' });
      expect(await world.claim()).toEqual(['a', 'other']);
      await become(world);
      expect(await world.claim()).toEqual(holds ? [] : ['b']);
    });

    it('jobs of a sequence run in the order in which they were added, also those that are due later or retried', async () => {
      const world = worldOf();
      for (const id of ['a', 'b', 'c']) await world.add(id, { sequence: 's', mostAttempts: 1, ...(id === 'c' ? { priority: 9 } : {}) });
      await world.add('later', { sequence: 's', at: world.clock.at + 10 });
      await world.add('last', { sequence: 's' });
      for (const id of ['a', 'b']) {
        expect(await world.claim()).toEqual([id]);
        await world.end(id, world.failed());
      }
      expect(await world.states('a', 'b', 'c', 'later', 'last')).toBe('dead dead ready scheduled waiting');
      expect([await world.store.retry('b'), await world.store.retry('a')]).toEqual([true, true]);
      world.pass(10);
      const order: string[] = [];
      for (let taken = await world.claim(); taken.length > 0; taken = await world.claim()) {
        order.push(...taken);
        await world.end(taken[0] ?? '');
      }
      expect(order).toEqual(['a', 'b', 'c', 'later', 'last']);
    });

    it('a parent takes with it those inside it when it ends, and the others when it is cancelled', async () => {
      const world = worldOf();
      for (const parent of ['done', 'cancelled', 'tried again']) {
        await world.add(parent);
        await world.add(`${parent} child`, { parent, at: world.clock.at + DAY_MS });
        await world.add(`${parent} inside`, { parent, inside: true, at: world.clock.at + DAY_MS });
        await world.add(`${parent} grandchild`, { parent: `${parent} child`, at: world.clock.at + DAY_MS });
      }
      await world.claim();
      await world.end('done');
      await world.store.cancel('cancelled', 'no more');
      await world.end('cancelled', world.failed());
      await world.end('tried again', world.failed());
      const of = (parent: string) => world.states(`${parent} child`, `${parent} inside`, `${parent} grandchild`);
      expect(await of('done')).toBe('scheduled cancelled scheduled');
      expect(await of('cancelled')).toBe('cancelled cancelled cancelled');
      expect(await of('tried again')).toBe('scheduled scheduled scheduled');
      expect((await world.row('cancelled child')).error).toMatchObject({ code: 'cancelled' });
    });

    it('very many that end with their parent do so in small steps, and none of them begins meanwhile', async () => {
      const world = worldOf({ concurrency: 1_000 });
      await world.add('parent');
      await world.addMany(450, (n) => ({ parent: n < 300 ? 'parent' : '0' }));
      await world.store.cancel('parent', 'no more');
      const cancelled = () => world.store.count({ states: ['cancelled'] });
      expect(await cancelled()).toBe(201);
      const steps: number[] = [];
      for (let isMore = true; isMore; steps.push(await cancelled())) {
        const { taken, next } = await world.store.claim(world.claimOf('one', { most: 1_000 }));
        expect(taken).toEqual([]);
        isMore = next !== null && next <= world.clock.at;
      }
      expect(steps).toEqual([401, 451]);
      await world.store.retry('0');
      expect(await world.claim()).toEqual(['0']);
    });

    it('one that is added too late ends with its parent', async () => {
      const world = await running('done', 'cancelled');
      await world.end('done');
      await world.store.cancel('cancelled', '');
      await world.end('cancelled', DONE); // it was faster: that counts
      expect(await world.state('cancelled')).toBe('done');
      await world.add('one', { parent: 'done' });
      await world.add('two', { parent: 'done', inside: true });
      await world.add('three', { parent: 'unknown', inside: true });
      expect(await world.states('one', 'two', 'three')).toBe('ready cancelled cancelled');
      expect([await world.store.retry('two'), await world.store.retry('three')]).toEqual([false, false]);
    });

    it('one inside another runs while that has begun, beside a concurrency that is used up', async () => {
      const world = worldOf({ concurrency: 1 });
      await world.add('parent');
      await world.add('inside', { parent: 'parent', inside: true });
      await world.add('next');
      expect(await world.claim()).toEqual(['parent']);
      expect(await world.claim('one', { most: 1 })).toEqual(['inside']);
      await world.end('parent', { kind: 'wait', wait: { jobs: ['inside'] } });
      expect(await world.claim()).toEqual(['next']); // one that waits holds no slot
      await world.end('inside');
      expect(await world.claim()).toEqual([]);
      await world.end('next');
      expect(await world.claim()).toEqual(['parent']);
    });

    it('one inside another that is tried again waits for it', async () => {
      const world = await running('parent');
      await world.add('inside', { parent: 'parent', inside: true });
      await world.end('parent', world.failed());
      expect(await world.claim()).toEqual([]);
      world.pass(1_000);
      expect(await world.claim()).toEqual(['parent']);
      expect(await world.claim()).toEqual(['inside']);
    });
  });

  describe('J3: rows', () => {
    it('a payload and a result are kept as they are', async () => {
      const world = worldOf();
      const text = JSON.stringify({ text: '\0 \ud800 ü 𝄞 \u2028', numbers: [1e300, -0, 0.1], constructor: null });
      await world.add('a', { payload: text, lane: 'lane \'"', owner: '' });
      const { taken } = await world.store.claim(world.claimOf('one'));
      expect(taken[0]).toMatchObject({ payload: text, lane: 'lane \'"', owner: '' });
      await world.end('a', { kind: 'done', result: text });
      expect(await world.row('a')).toMatchObject({ state: 'done', result: text, error: null });
    });

    it('they are kept 30 days after their end, dead ones 90 days unless they were seen; nothing that is open', async () => {
      const world = worldOf();
      for (const id of ['done', 'cancelled', 'dead', 'seen', 'open']) await world.add(id, { mostAttempts: 1, tells: false });
      await world.claim();
      await world.end('done');
      await world.store.note({ id: 'cancelled', fence: 1 }, '1');
      await world.store.cancel('cancelled', '');
      for (const id of ['cancelled', 'dead', 'seen']) await world.end(id, world.failed());
      await world.store.markSeen(['seen', 'open', 'unknown']);
      await world.end('open', { kind: 'wait', wait: { resume: true } });
      const left = async (days: number) => {
        world.clock.at += days * DAY_MS;
        while (await world.store.tidy());
        return (await world.store.list({ limit: 10 })).map(({ id }) => id).toReversed();
      };
      expect(await left(30)).toEqual(['done', 'cancelled', 'dead', 'seen', 'open']);
      expect(await left(1)).toEqual(['dead', 'open']);
      expect(await world.store.notes('cancelled')).toEqual([]);
      expect(await left(60)).toEqual(['open']);
    });

    it('a hold that is over is deleted', async () => {
      const database = open();
      const world = storeWorld(database);
      for (const until of [world.clock.at + 1, world.clock.at + 2, null])
        await world.store.hold({ kind: 'lane', value: `${until}`, until, reason: 'test' });
      world.pass(1);
      await world.store.tidy();
      expect(database.all('SELECT until FROM job_holds ORDER BY value')).toEqual([{ until: world.clock.at + 1 }, { until: null }]);
    });

    it('many are deleted in small steps', async () => {
      const world = worldOf({ concurrency: 1_000 });
      await world.addMany(250);
      await Promise.all((await world.claim('one', { most: 1_000 })).map((id) => world.end(id)));
      world.pass(31 * DAY_MS);
      expect([await world.store.tidy(), await world.store.count({})]).toEqual([true, 50]);
      expect([await world.store.tidy(), await world.store.count({})]).toEqual([false, 0]);
    });

    it('one that is not kept is gone when it is done, not when it is dead', async () => {
      const world = await waiting('done');
      await world.add('dead', { mostAttempts: 1 });
      await world.claim();
      await world.end('done', DONE, false);
      await world.end('dead', world.failed(), false);
      expect(await world.states('done', 'dead')).toBe('gone dead');
    });

    it('the last 200 notes are kept, oldest first', async () => {
      const world = await running('a');
      await Promise.all(Array.from({ length: 205 }, (_each, n) => world.store.note({ id: 'a', fence: 1 }, `${n}`)));
      const notes = await world.store.notes('a');
      expect([notes.length, notes[0]?.data, notes.at(-1)]).toEqual([200, 5, { at: world.clock.at, data: 204 }]);
    });
  });

  describe('J4: claims', () => {
    it('the most urgent first, then the oldest; each is taken once, and the time of what is due later is told', async () => {
      const world = await waiting('a');
      await world.add('b', { priority: 1 });
      await world.add('c', { priority: 1 });
      await world.add('later', { at: world.clock.at + 70 });
      const { taken, next } = await world.store.claim(world.claimOf('one', { most: 2 }));
      expect([taken.map(({ id }) => id), next]).toEqual([['b', 'c'], world.clock.at + 70]);
      expect([await world.claim('two'), await world.claim('one')]).toEqual([['a'], []]);
    });

    it('no more of a name run than its concurrency, over all processes', async () => {
      const world = worldOf({ concurrency: 2 }, { name: 'x.b', concurrency: 1 });
      for (const id of ['1', '2', '3', '4']) await world.add(id);
      await world.add('b1', { name: 'x.b' });
      await world.add('b2', { name: 'x.b' });
      expect(await world.claim('one', { most: 2 })).toEqual(['1', '2']);
      expect(await world.claim('two')).toEqual(['b1']);
      await world.end('2');
      expect(await world.claim('three')).toEqual(['3']);
    });

    it('a name that nobody here declares waits, and so does a payload of a newer version', async () => {
      const world = worldOf({ version: 2 });
      await world.add('foreign', { name: 'y.a' });
      await world.add('newer', { version: 3 });
      await world.add('older', { version: 1 });
      expect(await world.claim()).toEqual(['older']);
      const claim = world.claimOf('two', { jobs: new Map([['x.a', declared('x.a', { version: 3 })]]) });
      expect((await world.store.claim(claim)).taken.map(({ id }) => id)).toEqual(['newer']);
    });

    it('a process that serves one name takes no other, but what is inside its own', async () => {
      const world = worldOf({}, { name: 'x.b' });
      await world.add('other', { name: 'x.a' });
      await world.add('own', { name: 'x.b' });
      await world.add('inside', { name: 'x.a', parent: 'own', inside: true });
      const only = { names: new Set(['x.b']), lanes: new Set<string>(), jobs: new Set<string>() };
      expect(await world.claim('one', { only })).toEqual(['own']);
      expect(await world.claim('one', { only })).toEqual(['inside']);
      expect(await world.claim('two')).toEqual(['other']);
    });

    it('a look says whether a claim could do anything, and when', async () => {
      const world = worldOf();
      const look = () => world.store.isDue(world.claimOf('two'));
      expect(await look()).toEqual({ due: false, next: null });
      await world.add('a');
      expect(await look()).toEqual({ due: true, next: null });
      await world.claim('one');
      expect(await look()).toEqual({ due: false, next: world.clock.at + LEASE_MS });
      expect(await world.store.isDue(world.claimOf('one'))).toEqual({ due: false, next: null });
      world.pass(LEASE_MS);
      expect(await look()).toMatchObject({ due: true });
      await world.store.cancel('a', '');
      expect((await world.store.isDue(world.claimOf('one'))).next).toBe(world.clock.at + 5_000);
    });

    it('what cannot start hides nothing, also 1,000 rows of it', async () => {
      const world = worldOf({ concurrency: 5_000 });
      await world.addMany(1_050, () => ({ owner: 'busy', priority: 1 }));
      await world.add('free');
      await world.store.hold({ kind: 'owner', value: 'busy', until: null, reason: 'test' });
      expect(await world.claim('one', { most: 5 })).toEqual(['free']);
      await world.store.release('owner', 'busy');
      expect((await world.claim('one', { most: 5_000 })).length).toBe(1_050);
    });

    it('many that are due at once are all moved, by claims that follow at once', async () => {
      const world = worldOf({ concurrency: 5_000 });
      await world.addMany(450, () => ({ at: world.clock.at + 1 }));
      world.pass(1);
      const counts: number[] = [];
      for (let isMore = true; isMore;) {
        const { taken, next } = await world.store.claim(world.claimOf('one', { most: 5_000 }));
        counts.push(taken.length);
        isMore = next !== null && next <= world.clock.at;
      }
      expect(counts).toEqual([200, 200, 50]);
    });
  });

  describe('J6: the fence', () => {
    it('an attempt whose job another has changes nothing any more', async () => {
      const world = await waiting('a');
      await world.claim('one');
      expect(await lose(world, 'two')).toEqual(['a']);
      const former = { id: 'a', fence: 1 };
      const before = await world.row('a');
      expect(await world.store.settle(former, DONE, true)).toBe(false);
      expect(await world.store.note(former, '1')).toBe(false);
      await world.store.leave([former]);
      expect(await world.store.renew([former])).toEqual(new Map([[former, 'lost']]));
      expect(await world.store.stops([former])).toEqual(new Map([[former, 'lost']]));
      expect(await world.row('a')).toEqual(before);
      const present = { id: 'a', fence: 2 };
      expect(await world.store.renew([former, present])).toEqual(new Map([[former, 'lost']])); // of one process that has both
      expect(await world.store.settle(present, DONE, true)).toBe(true);
    });

    it('a lease that is renewed lasts; one that ran out is renewed as long as nobody took the job', async () => {
      const world = await waiting('a');
      await world.claim('one');
      for (let n = 0; n < 5; n += 1) {
        world.pass(LEASE_MS - 1);
        expect([await world.claim('two'), (await world.store.renew([{ id: 'a', fence: 1 }])).size]).toEqual([[], 0]);
      }
      world.pass(LEASE_MS * 3);
      expect((await world.store.renew([{ id: 'a', fence: 1 }])).size).toBe(0);
      expect(await world.claim('two')).toEqual([]);
    });

    it('a renewal is no news for those who watch', async () => {
      const world = await waiting('a');
      await world.claim('one');
      const { changed } = await world.row('a');
      world.pass(1_000);
      await world.store.renew([{ id: 'a', fence: 1 }]);
      expect(await world.row('a')).toMatchObject({ changed, until: world.clock.at + LEASE_MS });
    });
  });

  describe('J7: changes', () => {
    it('who watches is told of whole commits in their order', async () => {
      const world = worldOf({ concurrency: 5_000 });
      await world.addMany(1_200);
      const first = await world.store.changesSince(0);
      expect([first.ids.length, first.ids[0]]).toEqual([1_000, '0']);
      const second = await world.store.changesSince(first.number);
      expect(second.ids).toEqual(Array.from({ length: 200 }, (_each, n) => `${n + 1_000}`));
      await world.claim('one', { most: 1_100 });
      const claimed = await world.store.changesSince(second.number);
      expect(claimed.ids.length).toBe(1_100); // of one commit
      expect(await world.store.changesSince(claimed.number)).toEqual({ number: claimed.number, ids: [] });
    });
  });

  describe('J8: ends that are asked for', () => {
    it('one that waits is cancelled at once, one that runs when its attempt ends', async () => {
      const world = await running('runs');
      await world.add('waits');
      expect([await world.store.cancel('runs', 'why'), await world.store.cancel('waits', 'why')]).toEqual([true, true]);
      expect(await world.states('runs', 'waits')).toBe('running cancelled');
      expect(await world.store.stops([{ id: 'runs', fence: 1 }])).toEqual(new Map([[{ id: 'runs', fence: 1 }, 'cancelled']]));
      await world.end('runs', world.failed());
      expect(await world.row('runs')).toMatchObject({ state: 'cancelled', error: { code: 'cancelled', message: 'why' }, attempts: 0 });
      expect(await world.store.cancel('runs', '')).toBe(false);
    });

    it('its slot is free after 5 s at the latest, or when its process is gone', async () => {
      const world = worldOf({ concurrency: 1 });
      for (const id of ['a', 'b', 'c']) await world.add(id);
      await world.claim('one');
      await world.store.cancel('a', '');
      for (let n = 0; n < 5; n += 1) {
        expect(await world.claim('two')).toEqual([]);
        world.pass(1_000);
        await world.store.cancel('a', 'once more');
        await world.store.renew([{ id: 'a', fence: 1 }]);
      }
      expect(await world.claim('two')).toEqual(['b']);
      expect(await world.store.renew([{ id: 'a', fence: 1 }])).toEqual(new Map([[{ id: 'a', fence: 1 }, 'lost']]));
      await world.store.cancel('b', '');
      expect(await lose(world, 'three')).toEqual(['c']);
      expect(await world.states('a', 'b')).toBe('cancelled cancelled');
    });

    it('what a stopping process gives back or leaves costs nothing', async () => {
      const world = worldOf();
      for (const id of ['given', 'left']) await world.add(id, { mostAttempts: 2 });
      await world.claim('one');
      await world.end('given', { kind: 'returned', at: null });
      await world.store.leave([{ id: 'left', fence: 1 }]);
      expect(await world.claim('two')).toEqual(['given']); // the other may still run
      expect(await lose(world, 'three')).toContain('left');
      expect(await world.row('given')).toMatchObject({ attempts: 0 });
      expect(await world.row('left')).toMatchObject({ attempts: 0, lost: 0, leaving: false });
    });
  });

  describe('J9: losses', () => {
    it('three in a row make it dead; a note, a wait or a failure between begins anew', async () => {
      const world = await waiting('a');
      await world.claim('0');
      await lose(world, '1');
      await lose(world, '2');
      expect(await world.row('a')).toMatchObject({ lost: 2, attempts: 0 });
      await world.store.note({ id: 'a', fence: 3 }, '"a step"');
      await lose(world, '3');
      await lose(world, '4');
      expect(await world.row('a')).toMatchObject({ lost: 2, state: 'running' });
      expect(await lose(world, '5')).toEqual([]);
      expect(await world.row('a')).toMatchObject({
        state: 'dead',
        lost: 3,
        error: { code: 'lost', message: 'the process died 3 times during it' },
      });
      for (const outcome of [world.failed(0), { kind: 'again', at: 0 }, { kind: 'wait', wait: { until: 0 } }] as const) {
        await world.add('b', { unique: 'b' });
        await world.claim('6');
        await lose(world, '7');
        await world.end('b', outcome);
        expect(await world.row('b')).toMatchObject({ lost: 0 });
      }
    });

    it('with one attempt a lost one is dead, also where its process was stopping', async () => {
      const world = worldOf();
      await world.add('a', { mostAttempts: 1 });
      await world.add('b', { mostAttempts: 1 });
      await world.claim('one');
      await world.store.leave([{ id: 'b', fence: 1 }]);
      expect(await lose(world, 'two')).toEqual([]);
      for (const id of ['a', 'b']) expect((await world.row(id)).error?.message).toContain('may have happened');
    });

    it('from the second loss on it runs alone of its name', async () => {
      const world = worldOf({}, { name: 'x.b' });
      for (const id of ['bad', 'other']) await world.add(id);
      await world.claim('0');
      await world.store.renew([{ id: 'other', fence: 1 }]);
      for (const holder of ['1', '2']) {
        world.pass(LEASE_MS / 2);
        await world.store.renew([{ id: 'other', fence: 1 }]);
        world.pass(LEASE_MS / 2);
        await world.claim(holder);
      }
      expect(await world.states('bad', 'other')).toBe('ready running');
      await world.add('third');
      await world.add('foreign', { name: 'x.b' });
      expect(await world.claim('3')).toEqual(['foreign']);
      await world.end('other');
      expect([await world.claim('3'), await world.claim('3')]).toEqual([['bad'], []]);
      await world.end('bad');
      expect(await world.claim('3')).toEqual(['third']);
    });

    it('one that would run alone and may not start holds nobody', async () => {
      const world = worldOf();
      await world.add('bad', { owner: 'o' });
      await world.claim('0');
      await lose(world, '1');
      await world.store.hold({ kind: 'owner', value: 'o', until: null, reason: '' });
      await lose(world, '2');
      await world.add('next');
      expect([await world.state('bad'), await world.claim('2')]).toEqual(['ready', ['next']]);
    });

    it.each<[string, (world: StoreWorld) => Promise<unknown>, boolean]>([
      ['cancelled while it waited', (world) => world.store.cancel('a', ''), true],
      ['lost too often', async (world) => (await world.claim('0'), await lose(world, '1'), await lose(world, '2'), lose(world, '3')), true],
      ['dead', async (world) => (await world.claim(), world.end('a', { ...world.failed(), isFinal: true } as Outcome)), true],
      ['done', async (world) => (await world.claim(), world.end('a')), false],
    ])('who added one that was %s is told by a job', async (_end, happen, isTold) => {
      const world = worldOf();
      await world.add('a', { tells: true, lane: 'l', owner: 'o' });
      await happen(world);
      const told = await world.store.list({ names: ['x.a ended'], limit: 10 });
      expect(told.map(({ payload, state }) => [payload, state])).toEqual(isTold ? [['"a"', 'waiting']] : []);
    });
  });

  describe('J10: ticks', () => {
    const schedule = { id: 'x.t', cron: '* * * * *', zone: 'UTC', missed: 'once', within: null, next: 100 } as const;
    const job = (id: string, changes: Partial<NewJob> = {}): NewJob => newJob('x.a', { id, tells: true, ...changes });
    const planned = async (world: StoreWorld): Promise<void> =>
      world.store.putSchedule({ ...schedule, job: { name: 'x.a', version: 1, payload: '{}', mostAttempts: 8, tells: true } });

    it('of two processes that see the same tick one makes its job', async () => {
      const world = worldOf();
      await planned(world);
      const tick = (id: string, due: number) =>
        world.store.tick({ schedule: 'x.t', due, next: due + 60, job: { ...job(id), late: false, skipped: null } });
      expect(await Promise.all([tick('one', 100), tick('two', 100), tick('three', 99)])).toEqual([true, false, false]);
      expect([await world.claim(), (await world.store.schedules())[0]?.next]).toEqual([['one'], 160]);
      expect(await world.store.tick({ schedule: 'unknown', due: 100, next: null, job: null })).toBe(false);
    });

    it('one that is skipped is a row with its reason, and nobody is told', async () => {
      const world = worldOf();
      await planned(world);
      await world.store.tick({ schedule: 'x.t', due: 100, next: 160, job: { ...job('a'), late: true, skipped: 'two hours late' } });
      expect(await world.row('a')).toMatchObject({ state: 'cancelled', error: { code: 'missed', message: 'two hours late' } });
      expect([await world.claim(), await world.store.count({})]).toEqual([[], 1]);
      expect(await world.store.retry('a')).toBe(true);
      expect(await world.claim()).toEqual(['a']);
    });

    it('ticks do not pile up: one that has begun lets one wait behind it, which each later one replaces', async () => {
      const world = worldOf();
      const start = Math.ceil(world.clock.at / 60_000) * 60_000;
      const minute = async (number: number): Promise<string[]> => {
        world.clock.at = start + number * 60_000;
        const due = ticksDue(await world.store.schedules(), { now: world.clock.at, isSetBack: false }, () => `${number}`);
        for (const tick of due.ticks) await world.store.tick(tick);
        const open = await world.store.list({ states: ['waiting', 'running', 'failed'], limit: 9 });
        return open.map(({ id, state, payload }) => `${id} ${state} ${(JSON.parse(payload).at - start) / 60_000}`).toReversed();
      };
      const begin = () => world.store.claim(world.claimOf('one'));
      const job = { name: 'x.a', version: 1, payload: '{}', mostAttempts: 8, tells: true };
      await world.store.putSchedule({ ...schedule, job, next: start + 60_000 });
      expect(await minute(1)).toEqual(['1 waiting 1']);
      expect(await minute(2)).toEqual(['1 waiting 2']);
      await begin();
      expect(await minute(3)).toEqual(['1 running 2', '3 waiting 3']);
      await world.store.renew([{ id: '1', fence: 1 }]);
      expect(await minute(4)).toEqual(['1 running 2', '3 waiting 4']);
      await world.end('1', world.failed(600_000));
      expect(await minute(5)).toEqual(['1 failed 2', '3 waiting 5']);
      world.pass(600_000);
      await begin();
      await world.end('1');
      await begin();
      expect(await world.states('1', '3')).toBe('done running');
    });

    it('two that catch up run at a time, over all names, and hide nothing behind them', async () => {
      const world = worldOf({ concurrency: 4 }, { name: 'x.b' });
      for (const id of ['1', '2', '3', '4', '5']) {
        await world.store.putSchedule({ ...schedule, id, job: { name: 'x.a', version: 1, payload: '{}', mostAttempts: 8, tells: true } });
        const name = id === '5' ? 'x.b' : 'x.a';
        await world.store.tick({ schedule: id, due: 100, next: 160, job: { ...job(id, { name }), late: true, skipped: null } });
      }
      await world.add('on time');
      expect(await world.claim()).toEqual(['1', '2', 'on time']);
      expect(await world.claim()).toEqual([]);
      await world.end('1');
      expect(await world.claim()).toEqual(['3']);
      for (const id of ['2', '3']) await world.end(id);
      expect(await world.claim()).toEqual(['4', '5']);
    });

    it('a timetable that is put again keeps its next tick unless its times changed; removed, it ticks no more', async () => {
      const world = worldOf();
      await planned(world);
      const { job: made } = (await world.store.schedules())[0] ?? { job: job('none') };
      await world.store.putSchedule({ ...schedule, next: 500, job: made });
      expect((await world.store.schedules())[0]?.next).toBe(100);
      await world.store.putSchedule({ ...schedule, cron: '5 * * * *', next: 500, job: made });
      expect((await world.store.schedules())[0]?.next).toBe(500);
      await world.store.removeSchedule('x.t');
      expect(await world.store.schedules()).toEqual([]);
    });

    it('after a clock was set back nothing lasts longer than it would now', async () => {
      const world = await waiting('held', 'asked', 'failed', 'later');
      world.pass(DAY_MS);
      await world.claim('dead');
      await world.store.cancel('asked', '');
      await world.end('failed', world.failed(1_000));
      await world.end('later', { kind: 'again', at: world.clock.at + 1 });
      world.pass(-DAY_MS);
      await world.store.repairClock(Number.MAX_SAFE_INTEGER); // no number makes it throw
      await world.store.repairClock(300_000);
      expect(await world.claim('two')).toEqual(['failed']);
      expect(await lose(world, 'two')).toEqual(['held']);
      world.pass(2_000);
      await world.claim('two');
      expect(await world.states('asked', 'later')).toBe('cancelled scheduled');
    });
  });

  describe('J11: holds', () => {
    it.each(['name', 'lane', 'owner'] as const)('nothing of a %s that is held starts, until its time or its release', async (kind) => {
      const world = worldOf({}, { name: 'x.b' });
      const value = { name: 'x.a', lane: 'l', owner: 'o' }[kind];
      await world.add('parent', { name: 'x.b' });
      await world.add('running', { lane: 'l', owner: 'o' });
      await world.claim();
      await world.add('a', { lane: 'l', owner: 'o' });
      await world.add('inside', { lane: 'l', owner: 'o', parent: 'parent', inside: true });
      await world.add('b', { name: 'x.b' });
      await world.store.hold({ kind, value, until: world.clock.at + 10, reason: 'too much' });
      expect(await world.claim()).toEqual(['b']);
      expect((await world.store.isDue(world.claimOf('one'))).next).toBe(world.clock.at + 10);
      expect(await world.store.holds()).toEqual([{ kind, value, until: world.clock.at + 10, reason: 'too much' }]);
      world.pass(10);
      expect(await world.store.holds()).toEqual([]);
      expect((await world.claim()).toSorted()).toEqual(['a', 'inside']);
      await world.add('c', { lane: 'l', owner: 'o' });
      await world.store.hold({ kind, value, until: null, reason: '' });
      expect(await world.claim()).toEqual([]);
      await world.store.release(kind, value);
      expect(await world.claim()).toEqual(['c']);
    });
  });

  describe('J14: what people do', () => {
    it('retry keeps the row and gives new attempts, unless its unique is taken, or it is done or open', async () => {
      const world = worldOf();
      for (const id of ['dead', 'done', 'taken', 'failed']) await world.add(id, { mostAttempts: id === 'failed' ? 2 : 1, unique: id });
      await world.claim();
      for (const id of ['dead', 'taken', 'failed']) await world.end(id, world.failed());
      await world.end('done');
      await world.add('newer', { unique: 'taken' });
      await world.store.markSeen(['dead']);
      const retried = await Promise.all(['dead', 'done', 'taken', 'failed', 'newer', 'unknown'].map((id) => world.store.retry(id)));
      expect(retried).toEqual([true, false, false, true, false, false]);
      expect(await world.claim()).toEqual(['dead', 'failed', 'newer']);
      expect(await world.row('dead')).toMatchObject({ attempts: 0, lost: 0, ended: null, seen: false, fence: 2, number: 1 });
    });

    it.each<[string, Parameters<StoreWorld['store']['count']>[0], readonly string[]]>([
      ['nothing', {}, ['4', '3', '2', '1']],
      ['names', { names: ['x.b', 'none'] }, ['3']],
      ['a prefix', { prefix: 'x_' }, ['4']],
      ['states', { states: ['cancelled', 'dead'] }, ['2']],
      ['a lane', { lane: 'l' }, ['2', '1']],
      ['an owner', { owner: 'o', states: ['waiting'] }, ['1']],
      ['a parent', { parent: '1' }, ['2']],
      ['ids', { ids: ['1', '4', 'none'] }, ['4', '1']],
    ])('list and count find by %s, newest first', async (_by, filter, ids) => {
      const world = worldOf();
      await world.add('1', { lane: 'l', owner: 'o' });
      await world.add('2', { lane: 'l', owner: 'o', parent: '1' });
      await world.add('3', { name: 'x.b' });
      await world.add('4', { name: 'x_a.b' });
      await world.store.cancel('2', '');
      expect((await world.store.list({ ...filter, limit: 10 })).map(({ id }) => id)).toEqual(ids);
      expect((await world.store.list({ ...filter, limit: 1 })).map(({ id }) => id)).toEqual(ids.slice(0, 1));
      expect(await world.store.count(filter)).toBe(ids.length);
    });
  });
});
