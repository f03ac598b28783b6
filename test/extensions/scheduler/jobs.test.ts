import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PithError } from 'pith';
import { fakeClock, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';
import { openStore } from '../../../core/store/index.ts';
import { storeModel } from '../../fixtures/store-model.ts';
import { openStoreFixture } from '../../fixtures/store.ts';
import { answered, answerFirst } from '../../answers.ts';
import { folderWith } from '../../places.ts';
import { passed, passing } from '../../waiting.ts';
import { takenFrom } from '../../core/durable/jobs/new-job.ts';
import { approved, idOf, listed, MINUTE, world } from './schedule-world.ts';

const DAY = 1440 * MINUTE;

it('J10 J13 what runs again and again is a timetable, which goes with its schedule', async () => {
  const { pith, model, store, jobs } = await world();
  await approved(pith, model, '* * * * *');
  const [timetable] = await store.schedules();
  expect(timetable).toMatchObject({ cron: '* * * * *', zone: 'UTC', job: { name: 'scheduler.run' } });
  expect(await jobs()).toEqual([]);
  await pith.command(['tasks', 'schedules', 'cancel', (await listed(pith))[0]!.schedule_id]);
  expect(await store.schedules()).toEqual([]);
});

it.each([
  ['jobs', 'schedule_once', { message: 'x', in: '1m' }],
  ['scheduler__schedules', 'schedule_once', { message: 'x', in: '1m' }],
  ['scheduler__schedules', 'schedule_recurring', { message: 'x', cron: '* * * * *', time_zone: 'UTC' }],
  ['job_schedules', 'schedule_recurring', { message: 'x', cron: '* * * * *', time_zone: 'UTC' }],
] as const)(
  'J2 where the table %s takes no row, %s refuses, and leaves neither a schedule nor a time of it',
  async (table, tool, input) => {
    const { pith, model, clock, jobs, call, store } = await world();
    await call('list_schedules', {});
    const change = async (sql: string) => {
      const database = openStore(path.join(pith.sandbox, 'data/pith.db'), clock);
      await database.write((run) => void run(sql)).finally(() => database.close());
    };
    await change(`CREATE TRIGGER full BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`);
    model.add({ calls: [{ name: tool, input }] }, { text: 'It is full.' });
    if ((await pith.run('plan', { userId: 'local' })).reason === 'awaiting_approval') await answered(pith, 'once');
    await change('DROP TRIGGER full');
    expect(await listed(pith)).toEqual([]);
    await pith.kernel.start();
    const isOver = async () => (await store.schedules()).length === 0 && (await jobs()).every((job) => job.endsWith('done'));
    expect(await passing(clock, isOver, MINUTE / 6)).toBe(true);
  },
);

it('J11 a provider that takes no requests for a while is no failure of a run: it goes on, and is told once', async () => {
  const { clock, model, notices, call, told, pith } = await world();
  const limited = { error: new PithError('model_rate_limited', 'too many requests', { retryAfterMs: 2 * MINUTE }) };
  await call('schedule_once', { message: 'x', in: '1m' });
  model.add(limited, limited, { text: 'The soup!' });
  await pith.kernel.start();
  const from = clock.now();
  await told(1);
  expect(clock.now() - from).toBeGreaterThan(4 * MINUTE);
  expect(notices.map(({ text }) => text)).toEqual([expect.stringMatching(/: The soup!$/u)]);
});

it('J13 a run that waits for a person holds neither a job nor the next time of its schedule', async () => {
  const { pith, clock, model, notices, jobs, told } = await world();
  await approved(pith, model, '* * * * *');
  await pith.kernel.start();
  model.add({ calls: [{ name: 'kv_delete', input: { key: 'k' } }] });
  await told(1);
  expect(await passing(clock, async () => (await jobs()).join() === 'scheduler.run done')).toBe(true);
  model.add({ text: 'two' });
  await told(2);
  model.add({ text: 'Gone.' });
  await answerFirst(pith, 'once');
  await told(3);
  expect(notices.map(({ text }) => text.replace(/^boss \(schedule \w+\)/u, ''))).toEqual([
    ' waits for an answer: see pith approvals',
    ': two',
    ': Gone.',
  ]);
});

it.each([
  ['is cancelled', 'was stopped', (id: string, { store }: Awaited<ReturnType<typeof world>>) => store.cancel(id, 'by ada')],
  [
    'is dead',
    'failed: it cannot be',
    async (id: string, { store }: Awaited<ReturnType<typeof world>>) => {
      const [taken] = await takenFrom(store, 'scheduler.run');
      const error = { code: 'tool_failed', message: 'it cannot be' };
      await store.settle({ id, fence: taken!.fence }, { kind: 'failed', error, retryAt: 0, isFinal: true }, true);
    },
  ],
] as const)('J13 a schedule whose job %s says so, and is over', async (_, said, end) => {
  const all = await world();
  const { pith, clock, notices, store, call, told } = all;
  await call('schedule_once', { message: 'x', in: '1m' });
  const [job] = await store.list({ limit: 1 });
  await clock.advance(2 * MINUTE);
  await end(job!.id, all);
  await pith.kernel.start();
  await told(1);
  expect(notices[0]?.text).toContain(said);
  await passing(clock, async () => (await listed(pith)).length === 0);
});

it('J14 a cancelled time of a timetable is taken up when its job is retried', async () => {
  const { pith, clock, model, notices, store, jobs, told } = await world();
  await approved(pith, model, '2 * * * *');
  model.add({ hang: true });
  await clock.advance(3 * MINUTE);
  await pith.kernel.start();
  const runs = async () => (await jobs()).filter((job) => job.endsWith('running')).length;
  await passing(clock, async () => (await runs()) === 1 && model.requests.length === 3, MINUTE / 6);
  const [job] = await store.list({ names: ['scheduler.run'], states: ['running'], limit: 1 });
  await store.cancel(job!.id, 'by ada');
  await told(1);
  model.add({ text: 'The soup!' });
  await store.retry(job!.id);
  await told(2);
  expect(notices.map(({ text }) => text.replace(/^boss \(schedule \w+\)/u, '')).slice(0, 2)).toEqual([' was stopped', ': The soup!']);
});

it('J14 a retried job whose schedule is gone says so', async () => {
  const { pith, clock, store, call } = await world();
  await call('cancel_schedule', { schedule_id: idOf(await call('schedule_once', { message: 'x', in: '1m' })) });
  const [job] = await store.list({ names: ['scheduler.run'], states: ['cancelled'], limit: 1 });
  await store.retry(job!.id);
  await pith.kernel.start();
  await passing(clock, async () => (await store.get(job!.id))?.state === 'done');
  expect(await store.get(job!.id)).toMatchObject({ result: '{"skipped":"its schedule is gone; make it again"}' });
});

it('J8 J13 a run that the end of a process cuts off goes on in the next, and is told once', async () => {
  const { pith, clock, model, notices, listen, call } = await world();
  await call('schedule_once', { message: 'x', in: '1m' });
  model.add(
    () => new Promise(() => undefined), // the model never answers
    { text: 'The soup!' },
  );
  await pith.kernel.start();
  await passing(clock, () => model.requests.length === 1, MINUTE / 6);
  await passed(clock, pith.restart());
  listen();
  await pith.kernel.start();
  await passing(clock, () => notices.length === 1);
  expect(notices[0]?.text).toMatch(/: The soup!$/u);
  await passing(clock, async () => (await pith.kernel.jobs.store.list({ names: ['scheduler.run'], limit: 1 }))[0]?.state === 'done');
  expect(await pith.kernel.jobs.store.list({ names: ['scheduler.run'], limit: 9 })).toMatchObject([{ attempts: 0, lost: 0 }]);
});

it('J16 schedules of version 1.0 become jobs: none is lost, and none runs twice', async () => {
  const { sandbox, home, contents } = openStoreFixture(folderWith());
  const lines = () => readFileSync(path.join(sandbox, 'data/extensions/toolbox/done'), 'utf8').split('\n');
  const before = lines().length;
  const ran = () =>
    ['2m', '3d', '9'].map(
      (what) =>
        lines()
          .slice(before)
          .filter((line) => line.endsWith(`remember ${what}`)).length,
    );
  /** A process from then on, which ends with what it has to do at that time. */
  const served = async (at: number, runs: readonly number[]) => {
    const clock = fakeClock(at);
    const pith = await testKernel({ sandbox, home, accepts: false, clock, model: storeModel(), only: ['scheduler', 'kv'] });
    const { store } = pith.kernel.jobs;
    await pith.kernel.start();
    await passing(clock, () => ran().join() === runs.join(), 250);
    await passing(clock, async () => (await store.count({ names: ['scheduler.run'], states: ['waiting', 'running'] })) === 0, 250);
    await clock.advance(3_000); // nothing of it comes a second time
    expect(ran()).toEqual(runs);
    const planned = await store.list({ names: ['scheduler.run'], states: ['scheduled'], limit: 9 });
    const timetables = await store.schedules();
    await pith.stop();
    return { planned: planned.map(({ at: due }) => due), timetables: timetables.filter(({ id }) => id.startsWith('scheduler.')).length };
  };
  expect(await served(contents.killedAt + 2 * DAY, [1, 0, 1])).toEqual({ planned: [1767518108000], timetables: 1 }); // of two days that were missed, one
  expect(await served(contents.killedAt + 3 * DAY, [1, 1, 2])).toEqual({ planned: [], timetables: 1 });
});

it('J16 a schedule of version 1.0 whose times cannot be read is told, and hinders neither others nor what had begun', async () => {
  const { pith, clock, notices, listen, model, call, told } = await world();
  const row = (id: string, more: object) => ({
    id,
    agentId: 'boss',
    message: id,
    cron: null,
    timeZone: null,
    nextAt: clock.now() + MINUTE,
    open: [],
    last: null,
    createdAt: 0,
    by: { agent: 'boss', user: 'local', channel: 'cli', thread: 't' },
    policy: {},
    ...more,
  });
  await call('list_schedules', {});
  await pith.restart();
  const database = openStore(path.join(pith.sandbox, 'data/pith.db'), clock);
  await database.write((run) => {
    for (const each of [
      row('bad', { cron: '* * * * *', timeZone: 'No/Where' }),
      row('begun', { nextAt: null, open: [1] }),
      row('good', {}),
    ])
      run('INSERT INTO scheduler__schedules VALUES (?, ?, 0, ?)', each.id, 'local', JSON.stringify(each));
  });
  database.close();
  listen();
  await call('list_schedules', {});
  await pith.kernel.start();
  model.add({ text: 'It went on.' }, { text: 'It is time.' });
  await told(2);
  expect(notices.map(({ text }) => text)).toEqual(['boss (schedule begun): It went on.', 'boss (schedule good): It is time.']);
  const { notes } = await pith.kernel.doctor();
  expect(notes.map(({ message }) => message)).toContainEqual(expect.stringContaining("schedule 'bad' never runs"));
});
