import { beforeEach, expect, it, vi } from 'vitest';
import { createJournal, retryDelay } from '../../../core/durable/index.ts';
import { fakeClock, type FakeClock } from 'pith/testing';
import { openNode, task, type Node } from './world.ts';
import { folderWith } from '../../places.ts';

const DAY = 86_400_000;
let clock: FakeClock;
let node: Node;

beforeEach(() => {
  clock = fakeClock();
  node = openNode(folderWith(), clock, { 'a/one': () => undefined, 'b/two': () => undefined }, { topics: { 'b/two': ['schedule.due'] } });
});

it('K31 C6 an event and its deliveries are one commit, with the row that caused them', async () => {
  await node.store.write((statement) => {
    statement('CREATE TABLE cause (id INTEGER)');
    statement('INSERT INTO cause VALUES (1)');
    node.journal.append(statement, 'task.changed', task('t'));
  });
  expect(node.store.all('SELECT handler, event FROM deliveries')).toEqual([{ handler: 'a/one', event: 1 }]);
  const failed = node.store.write((statement) => {
    node.journal.append(statement, 'task.changed', task('lost'));
    throw new Error('rolled back');
  });
  await expect(failed).rejects.toThrow('rolled back');
  expect(node.store.all('SELECT count(*) AS n FROM events UNION ALL SELECT count(*) FROM deliveries')).toEqual([{ n: 1 }, { n: 1 }]);
});

it('B7: an event that was rolled back is never announced, also when another one of the same commit gets its id', async () => {
  const announced: string[] = [];
  const journal = createJournal({
    store: node.store,
    clock,
    handlers: () => [],
    written: ({ id, payload }) => announced.push(`${id} ${(payload as { taskId: string }).taskId}`),
  });
  const undone = node.store.write((statement) => {
    journal.append(statement, 'task.changed', task('never'));
    throw new Error('rolled back');
  });
  const written = node.store.write((statement) => void journal.append(statement, 'task.changed', task('real')));
  await expect(undone).rejects.toThrow('rolled back');
  await written;
  await new Promise((resolve) => setImmediate(resolve));
  expect(announced).toEqual(['1 real']);
});

it('K31 events published in one tick get ids in their order, each with a delivery for the handlers of its topic', async () => {
  const { publish } = node.journal;
  const due = (at: number) => publish('schedule.due', { v: 1, extensionId: 'b', name: 's', at });
  const published = Array.from({ length: 2500 }, (_, at) => (at % 2 ? publish('task.changed', task(`t${at}`)) : due(at)));
  const ids = await Promise.all(published);
  expect(ids).toEqual(Array.from({ length: 2500 }, (_, index) => String(index + 1)));
  expect(node.store.get('SELECT count(*) AS n FROM deliveries')).toEqual({ n: 3750 });
  expect(node.store.get(`SELECT payload FROM events WHERE id = 2500`)).toEqual({ payload: JSON.stringify(task('t2499')) });
});

it('K31 text of every kind comes back as it was', async () => {
  const note = 'a"b\\c\n\u0000\u2028 ä 漢 😀 \ud800';
  await node.journal.publish('task.changed', task('t', note));
  expect(JSON.parse(String(node.store.get('SELECT payload FROM events')?.payload))).toEqual(task('t', note));
});

it('K31 what is no JSON, too long, or has a key or time that cannot be, is refused and nothing is written', async () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  for (const payload of [cycle, { v: 1, at: new Date(0) }, { v: NaN }, { v: 1n }, { v: () => 1 }, undefined, new Map()]) {
    await expect(node.journal.publish('notify', payload as never)).rejects.toMatchObject({ code: 'not_serialisable' });
  }
  for (const options of [{ key: '' }, { key: 'a\0b' }, { key: 'k'.repeat(600) }, { at: NaN }]) {
    await expect(node.journal.publish('task.changed', task('t'), options)).rejects.toMatchObject({ code: 'parameter_invalid' });
  }
  await expect(node.journal.publish('task.changed', task('t', 'ä'.repeat(140_000)))).rejects.toMatchObject({ code: 'parameter_invalid' });
  expect(node.store.get('SELECT count(*) AS n FROM events')).toEqual({ n: 0 });
});

it('K31 events are forgotten after 30 days unless they wait, and what waits for a handler that is gone after 7', async () => {
  await node.journal.publish('schedule.due', { v: 1, extensionId: 'b', name: 'timer', at: 0 }, { at: clock.now() + 400 * DAY });
  await node.journal.publish('task.changed', task('done'));
  await node.store.write((statement) => void statement('DELETE FROM deliveries WHERE event = 2'));
  await node.journal.publish('schedule.due', { v: 1, extensionId: 'b', name: 'last', at: 0 });
  const tidy = () => node.journal.deliveries.tidy(new Set(['a/one']), clock.now());
  const left = () =>
    node.store.all('SELECT handler, event FROM deliveries ORDER BY handler, event').map(({ handler, event }) => `${handler} ${event}`);
  await tidy();
  await clock.advance(6 * DAY);
  await tidy();
  expect(left()).toEqual(['a/one 1', 'a/one 3', 'b/two 1', 'b/two 3']);
  await clock.advance(DAY);
  await tidy();
  expect(left()).toEqual(['a/one 1', 'a/one 3']);
  await clock.advance(24 * DAY);
  await tidy();
  expect(node.store.all('SELECT id FROM events').map(({ id }) => id)).toEqual([1, 3]);
});

it('K31 very many old events are forgotten in small steps', async () => {
  await node.store.write((statement) => {
    const sql = `WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 2500)
      INSERT INTO events SELECT id, 'task.changed', NULL, '{}', NULL, ? FROM n`;
    statement(sql, clock.now());
  });
  await clock.advance(31 * DAY);
  const write = vi.spyOn(node.store, 'write');
  await node.journal.deliveries.tidy(new Set(), clock.now());
  expect(node.store.all('SELECT id FROM events')).toEqual([{ id: 2500 }]);
  expect(write.mock.calls.length).toBeGreaterThanOrEqual(6);
});

it('K31 a delivery waits 1 s, twice as long each time, at most 5 minutes, with jitter', () => {
  expect([1, 2, 3, 8, 9, 30].map((attempts) => retryDelay(attempts, 0.5))).toEqual([1000, 2000, 4000, 128_000, 256_000, 300_000]);
  expect([retryDelay(1, 0), retryDelay(1, 1), retryDelay(30, 1)]).toEqual([900, 1100, 300_000]);
});
