/** What a Pith before jobs has left, or does meanwhile: it works on deliveries under leases, and plans the next run of a schedule as an event. */
import { beforeEach, expect, it } from 'vitest';
import { fakeClock, type FakeClock } from 'pith/testing';
import { createLeases, openStore, sqliteLeaseRows } from '../../../core/store/index.ts';
import { type DeclaredSchedule, openNode, task, type Node } from './world.ts';
import { folderWith } from '../../places.ts';
import { passing, until } from '../../waiting.ts';

const MINUTE = 60_000;
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
let folder: string;
let clock: FakeClock;
let seen: unknown[];

beforeEach(() => {
  folder = folderWith();
  clock = fakeClock();
  seen = [];
});

const open = (cron?: string): Node => {
  const handlers = { 'a/one': (payload: unknown) => void seen.push((payload as { at?: number }).at ?? 'task') };
  const declared: readonly DeclaredSchedule[] = cron === undefined ? [] : [{ extensionId: 'a', name: 'tick', cron, handler: 'one' }];
  return openNode(folder, clock, handlers, { topics: { 'a/one': ['task.changed', 'schedule.due'] }, schedules: () => declared });
};

/** As it plans the run of `a/tick` at `at`. */
async function plan({ store }: Node, at: number, cron: string): Promise<void> {
  await store.write((statement) => {
    const payload = JSON.stringify({ v: 1, extensionId: 'a', name: 'tick', at });
    const { lastInsertRowid } = statement(
      `INSERT INTO events (topic, key, payload, at) VALUES ('schedule.due', 'schedule a/tick', ?, ?)`,
      payload,
      at,
    );
    statement('INSERT INTO deliveries VALUES (?, ?, ?, ?, 0, NULL)', 'a/one', Number(lastInsertRowid), 'schedule a/tick', at);
    statement('REPLACE INTO schedules VALUES (?, ?, ?, ?)', 'a/tick', JSON.stringify([cron, 'one', ZONE]), at, Number(lastInsertRowid));
  });
}

/** As it delivers what is due. */
async function deliver({ store }: Node): Promise<void> {
  await store.write((statement) => {
    for (const { payload } of store.all('SELECT payload FROM deliveries JOIN events ON id = event WHERE due <= ?', clock.now()))
      seen.push(JSON.parse(String(payload)).at);
    statement('DELETE FROM deliveries WHERE due <= ?', clock.now());
  });
}

it('J16: what it has written is delivered from the start on', async () => {
  const node = open();
  await node.journal.publish('task.changed', task('t'));
  await node.store.write((statement) => void statement('DELETE FROM jobs'));
  node.start();
  await until(() => expect(seen).toEqual(['task']));
});

it('J16: what it wrote meanwhile is found also when it has ended', async () => {
  const node = open();
  node.start();
  await clock.advance(1000);
  await plan(node, clock.now(), '* * * * *');
  await clock.advance(MINUTE);
  await passing(clock, () => expect(seen).toHaveLength(1));
});

it('J16: a handler for which it works is left to it as long', async () => {
  const node = open();
  const other = openStore(node.store.file, clock);
  const lease = await createLeases(sqliteLeaseRows(other, clock), clock).acquire('handler a/one', 15_000);
  node.start();
  await node.journal.publish('task.changed', task('t'));
  await clock.advance(MINUTE);
  expect(seen).toEqual([]);
  await lease?.release();
  await passing(clock, () => expect(seen).toEqual(['task']));
  await other.close();
});

it.each([
  ['has ended', 1],
  ['goes on', 3],
])('J16: no tick is lost or doubled where it %s', async (_, plans) => {
  const start = clock.now();
  const ticks = [1, 2, 3, 4].map((minute) => start + minute * MINUTE);
  const node = open('* * * * *');
  await plan(node, ticks[0]!, '* * * * *');
  node.start();
  for (const [index] of ticks.entries()) {
    await clock.advance(MINUTE);
    if (index > 0 && index < plans) await deliver(node);
    await passing(clock, () => expect(seen).toEqual(ticks.slice(0, index + 1)), 100); // or the next would take its place
    if (index + 1 < plans) await plan(node, ticks[index + 1]!, '* * * * *');
  }
  expect(node.store.all('SELECT * FROM schedules')).toEqual([]);
});

it('J16: what it has planned of a schedule that was changed since is forgotten', async () => {
  const start = clock.now();
  const node = open('*/2 * * * *');
  await plan(node, start + MINUTE, '* * * * *');
  node.start();
  await clock.advance(2 * MINUTE);
  await passing(clock, () => expect(seen).toEqual([start + 2 * MINUTE]), 100);
});
