import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createJobStore, type JobRows, type LanePolicy, type NewJob } from '../../../../core/durable/index.ts';
import type { Store } from '../../../../core/store/index.ts';
import { folderWith } from '../../../places.ts';
import { bundleProgram, exitOf, startProgram } from '../../store/child-process.ts';
import { temporaryStore } from '../../store/temporary-store.ts';
import { plansOf, watched } from '../../store/watched-store.ts';
import { declared, newJob } from './new-job.ts';
import { DONE, START, storeWorld } from './store-world.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';

const EXCEPT = { lanes: ['held'], owners: ['held'], newerThan: 1, late: true };
const ROW = { lane: 'l', owner: 'o', name: 'x.a' };

const QUERIES: readonly (readonly [string, (rows: JobRows) => unknown])[] = [
  ['get', (rows) => rows.get('1')],
  ['delete', (rows) => rows.delete('none')],
  ['openUnique', (rows) => rows.openUnique('x.a', 'u')],
  ['sequence', (rows) => rows.sequence('x.a', 's')],
  ['readyOfSequence', (rows) => rows.readyOfSequence('x.a', 's')],
  ['openChildren', (rows) => rows.openChildren('1', true, 5)],
  ['overdue', (rows) => rows.overdue(START, 'one', 5_000, 200)],
  ['next', (rows) => rows.next('one', 5_000)],
  ['readyNames', (rows) => rows.readyNames()],
  ['running', (rows) => rows.running('x.a')],
  ['lateRunning', (rows) => rows.lateRunning()],
  ['ready', (rows) => rows.ready('x.a', true, EXCEPT, 5)],
  ['ready, not those in lanes', (rows) => rows.ready('x.a', false, EXCEPT, 5)],
  ['readyAlone', (rows) => rows.readyAlone('x.a', 2, EXCEPT)],
  ['readyInside', (rows) => rows.readyInside('x.a', EXCEPT, 5)],
  ['readyLanes', (rows) => rows.readyLanes('x.a')],
  ['heads', (rows) => rows.heads(ROW, 3, EXCEPT)],
  ['promised', (rows) => rows.promised('x.a', 'l')],
  ['served', (rows) => [rows.served('x.a', 'l'), rows.serve('x.a', 'l', 'o')]],
  ['waits', (rows) => [rows.setWaits('1', ['2']), rows.endWaits('2')]],
  ['notes', (rows) => [rows.addNote('1', START, '1', 200), rows.notes('1')]],
  ['list of a name', (rows) => rows.list({ names: ['x.a'], limit: 5 })],
  ['list of a parent', (rows) => rows.list({ parent: '1', limit: 5 })],
  ['list of ids', (rows) => rows.list({ ids: ['1'], limit: 5 })],
  ['changesSince', (rows) => rows.changesSince(1, 5)],
  ['endedBefore', (rows) => rows.endedBefore(START, 'dead', true, 5)],
  ['shorten', (rows) => rows.shorten(START, { lease: START, retry: START })],
];

/** Of lists that are short, or kept by people's commands. */
const MAY_SORT = new Set(['running', 'list of a name', 'list of ids']);

it.each(QUERIES)('J4: the query %s searches, or walks an index in its order', async (name, ask) => {
  const { store, queries } = watched(temporaryStore());
  const jobs = createJobStore(store, { now: () => START });
  await store.write((statement) => void ask(jobs.within(statement).rows));
  const plans = plansOf(
    store,
    queries.filter(({ sql }) => !sql.includes('job_counter')), // one row
  );
  const walks = /^SCAN (?!jobs USING (?:COVERING )?INDEX |CONSTANT ROW|json_each)/;
  expect(plans.filter((detail) => walks.test(detail) || (!MAY_SORT.has(name) && detail.includes('TEMP B-TREE')))).toEqual([]);
});

it('J4: claims, renewals and ends of one tick share a commit', async () => {
  const store = temporaryStore();
  let commit = 0;
  const commits: number[] = [];
  const committed = () => {
    commits.push(commit);
    queueMicrotask(() => (commit += 1)); // after all writes of the commit
  };
  const write: Store['write'] = (run) => store.write((statement) => (statement.onCommit(committed), run(statement)));
  const world = storeWorld({ ...store, write });
  await world.addMany(4);
  await world.claim('one', { most: 2 });
  commits.length = 0;
  await Promise.all([world.store.renew([{ id: '0', fence: 1 }]), world.store.settle({ id: '1', fence: 1 }, DONE, true), world.claim()]);
  expect(commits).toHaveLength(3);
  expect(new Set(commits).size).toBe(1);
});

it('J4: a claim and a look read few rows, also where very many wait', async () => {
  const { store, queries } = watched(temporaryStore());
  const jobs = [declared('x.a', { concurrency: 8 }), declared('x.lanes', { lanes: true, concurrency: 8 }), declared('x.held')];
  const world = storeWorld(store, jobs);
  const policy: LanePolicy = {
    rules: () => null,
    pick: ({ heads, running }) => ({
      start: running.length > 0 ? [] : heads.slice(0, 2).map(({ id }) => id),
      preempt: [],
      promised: new Map(),
    }),
  };
  const kinds: readonly Partial<NewJob>[] = [
    {},
    { sequence: 's' },
    { at: START + 1_000_000 },
    { name: 'x.held', owner: 'busy' },
    { name: 'y.foreign' },
  ];
  const changes = (n: number): Partial<NewJob> =>
    n % 2 === 0 ? (kinds[(n / 2) % kinds.length] ?? {}) : { name: 'x.lanes', lane: `l${n % 4}`, owner: n % 10 === 1 ? null : `o${n % 5}` };
  for (let n = 0; n < (isLong ? 20 : 2); n += 1) await world.addMany(5_000, changes, `${n} `);
  await world.store.hold({ kind: 'name', value: 'x.held', until: null, reason: 'test' });
  // The first and the second start jobs, the third finds the slots taken.
  for (const most of [6, 6, 100]) {
    queries.length = 0;
    const { taken } = await world.store.claim(world.claimOf('one', { most, policies: new Map([['x.lanes', policy]]) }));
    expect(queries.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThan(150 + 20 * taken.length);
    queries.length = 0;
    await world.store.isDue(world.claimOf('one'));
    expect(queries.length).toBeLessThan(20);
  }
});

it('J4: two processes on one file do each job once, and never more than its concurrency at a time', async () => {
  const folder = folderWith();
  const file = path.join(folder, 'pith.db');
  const database = temporaryStore(file);
  const world = storeWorld(database);
  const count = isLong ? 2_000 : 200;
  await world.addMany(count, (n) => ({ sequence: n % 3 === 0 ? `s${n % 7}` : null }));
  const marks = path.join(folder, 'marks');
  mkdirSync(marks);
  const program = await bundleProgram('../durable/jobs/child-claims', folder);
  const children = [1, 2].map(() => startProgram(program, file, marks));
  const worked = await Promise.all(
    children.map((child) => {
      let text = '';
      child.stdout?.on('data', (data) => (text += String(data)));
      return exitOf(child).then((code) => ({ code, worked: Number(text) }));
    }),
  );
  expect(worked.map(({ code }) => code)).toEqual([0, 0]);
  expect(worked.reduce((sum, each) => sum + each.worked, 0)).toBe(count);
  expect(readdirSync(marks)).toHaveLength(count);
  expect((await world.store.list({ limit: count })).every(({ fence, state }) => fence === 1 && state === 'done')).toBe(true);
});

it('J2: a job in a transaction of somebody else is there with it, or not at all', async () => {
  const database = temporaryStore();
  const world = storeWorld(database);
  await database.write((statement) => void world.store.within(statement).insert(newJob('x.a', { id: 'a' }), null));
  const failing = database.write((statement) => {
    world.store.within(statement).insert(newJob('x.a', { id: 'b' }), null);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await world.states('a', 'b')).toBe('ready gone');
  await world.claim();
  const guarded = (fence: number) => database.write((statement) => world.store.within(statement).guard({ id: 'a', fence }));
  await guarded(1);
  await expect(guarded(0)).rejects.toMatchObject({ code: 'lease_lost', where: 'a' });
});

it.each(Array.from({ length: isLong ? 40 : 8 }, (_, index) => [index]))(
  'J9: a disk with room for %i pages: what was told holds, what failed left nothing',
  async (pages) => {
    const database = temporaryStore();
    const world = storeWorld(database, [declared('x.a', { concurrency: 1_000 })]);
    await world.addMany(10);
    const limit = (more: number): unknown => database.get(`PRAGMA max_page_count = ${more}`);
    limit(Number(database.get('PRAGMA page_count')?.['page_count']) + pages);

    const added: string[] = [];
    const refused: string[] = [];
    const running = new Set<string>();
    const done: string[] = [];
    const failures: unknown[] = [];
    const attempt = async <T>(work: Promise<T>, then: (result: T) => void, otherwise = (): void => undefined): Promise<void> =>
      work.then(then, (error: unknown) => {
        failures.push(error);
        otherwise();
      });
    for (let n = 0; n < 30; n += 1) {
      const id = `large ${n}`;
      const adding = world.add(id, { payload: JSON.stringify('x'.repeat(3_000)) });
      await attempt(
        adding,
        () => added.push(id),
        () => refused.push(id),
      );
      await attempt(world.claim('one', { most: 1 }), (taken) => taken.forEach((each) => running.add(each)));
      const [first] = running;
      if (first === undefined || n % 2 === 0) continue;
      const ending = world.end(first, { kind: 'done', result: JSON.stringify('y'.repeat(2_000)) });
      await attempt(ending, () => (running.delete(first), done.push(first)));
    }
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(failure).toMatchObject({ code: 'database_failed' });

    limit(1_000_000);
    for (const id of added) await world.row(id);
    for (const id of refused) expect(await world.states(id)).toBe('gone');
    for (const id of done) expect(await world.state(id)).toBe('done');
    const rows = await world.store.list({ states: ['running'], limit: 1_000 });
    expect(new Set(rows.map(({ id }) => id))).toEqual(running);
    for (const id of running) expect(await world.end(id, DONE)).toBe(true);
    for (let taken = await world.claim(); taken.length > 0; taken = await world.claim()) for (const id of taken) await world.end(id);
    expect(await world.store.count({ states: ['done'] })).toBe(10 + added.length);
  },
);
