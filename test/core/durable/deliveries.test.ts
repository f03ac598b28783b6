import { beforeEach, expect, it } from 'vitest';
import { fakeClock } from 'pith/testing';
import { systemClock } from '@pith/promises';
import { createJournal, type Journal } from '../../../core/durable/index.ts';
import { temporaryStore } from '../store/temporary-store.ts';
import { plansOf, watched } from '../store/watched-store.ts';
import { openNode, task, type Handle, type Node } from './world.ts';
import { folderWith } from '../../places.ts';
import { gate, until } from '../../waiting.ts';

let folder: string;
beforeEach(() => void (folder = folderWith()));
const open = (...values: Parameters<typeof openNode> extends [string, ...infer Rest] ? Rest : never): Node => openNode(folder, ...values);
const idOf = (payload: unknown): string => (payload as { taskId: string }).taskId;

it('K31 each handler gets each event once, with id, topic, key, attempt and correlation id', async () => {
  const seen: unknown[] = [];
  const handle =
    (name: string): Handle =>
    (payload, { id, topic, key, attempt, correlationId }) =>
      void seen.push([name, idOf(payload), id, topic, key, attempt, correlationId]);
  const node = open(systemClock, { 'a/one': handle('one'), 'b/two': handle('two') });
  node.start();
  const first = await node.journal.publish('task.changed', task('t1'), { key: 'k', correlationId: 'c1' });
  const second = await node.journal.publish('task.changed', task('t2'));
  await until(() => expect(seen).toHaveLength(4));
  expect(seen).toEqual(
    expect.arrayContaining([
      ['one', 't1', first, 'task.changed', 'k', 1, 'c1'],
      ['two', 't1', first, 'task.changed', 'k', 1, 'c1'],
      ['one', 't2', second, 'task.changed', null, 1, `event-${second}`],
      ['two', 't2', second, 'task.changed', null, 1, `event-${second}`],
    ]),
  );
  await until(() => expect(node.store.all('SELECT * FROM deliveries')).toEqual([]));
});

it('K31 a slow handler delays neither another key, nor another handler; the order of a key is kept', async () => {
  const seen: string[] = [];
  const { opened: slow, open: free } = gate();
  const node = open(systemClock, {
    'a/slow': async (payload, { key }) => {
      if (idOf(payload) === 's0') await slow;
      seen.push(`${key}:${idOf(payload)}`);
    },
    'b/quick': (payload) => void seen.push(`quick:${idOf(payload)}`),
  });
  node.start();
  // more of the slow key than a lane keeps in memory
  const backlog = Array.from({ length: 200 }, (_, index) => node.journal.publish('task.changed', task(`s${index}`), { key: 'slow' }));
  await Promise.all(backlog);
  await node.journal.publish('task.changed', task('q'), { key: 'other' });
  await node.journal.publish('task.changed', task('n'));
  await until(() => expect(seen).toEqual(expect.arrayContaining(['other:q', 'null:n', 'quick:q', 'quick:n', 'quick:s199'])));
  expect(seen.filter((each) => each.startsWith('slow:'))).toEqual([]);
  free();
  await until(() => expect(seen.filter((each) => each.startsWith('slow:'))).toHaveLength(200));
  expect(seen.filter((each) => each.startsWith('slow:'))).toEqual(backlog.map((_, index) => `slow:s${index}`));
});

it('K31 a failed delivery is tried again alone, later each time, while its key waits; after eight attempts it is a dead letter', async () => {
  const clock = fakeClock();
  const attempts: number[] = [];
  const seen: string[] = [];
  const node = open(clock, {
    'a/fails': (payload, { attempt }) => {
      if (idOf(payload) !== 'bad') return void seen.push(idOf(payload));
      attempts.push(clock.now());
      expect(attempt).toBe(attempts.length);
      throw new Error('broken');
    },
    'b/works': (payload) => void seen.push(`works ${idOf(payload)}`),
  });
  node.start();
  await node.journal.publish('task.changed', task('bad'), { key: 'k' });
  await node.journal.publish('task.changed', task('next'), { key: 'k' });
  await node.journal.publish('task.changed', task('free'), { key: 'other' });
  await until(() => expect([...seen].sort()).toEqual(['free', 'works bad', 'works free', 'works next']));
  for (let round = 0; round < 400 && attempts.length < 8; round++) await clock.advance(1000);
  expect(attempts).toHaveLength(8);
  const gaps = attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0));
  gaps.forEach((gap, index) => {
    expect(gap).toBeGreaterThanOrEqual(1000 * 2 ** index * 0.9);
    expect(gap).toBeLessThanOrEqual(1000 * 2 ** index * 1.1 + 2000);
  });
  await until(() => expect(seen).toContain('next'));
  expect(node.store.all('SELECT handler, attempts, error FROM deliveries WHERE due < 0')).toEqual([
    { handler: 'a/fails', attempts: 8, error: 'broken' },
  ]);
});

it('K31 of two processes never both deliver an event, whoever published it', async () => {
  const clock = systemClock;
  const seen: string[] = [];
  const handlers = (name: string): Record<string, Handle> => ({ 'a/one': async (payload) => void seen.push(`${name} ${idOf(payload)}`) });
  const first = open(clock, handlers('first'));
  const second = open(clock, handlers('second'));
  first.start();
  second.start();
  const publish = (index: number) => (index % 2 ? first : second).journal.publish('task.changed', task(`t${index}`));
  await Promise.all(Array.from({ length: 300 }, (_, index) => publish(index)));
  await until(() => expect(seen).toHaveLength(300));
  expect(new Set(seen.map((each) => each.split(' ')[1])).size).toBe(300);
});

it('K31 C6 what a process that died had claimed is delivered by another one once its lease is over', async () => {
  const clock = fakeClock();
  const dead = open(clock, { 'a/one': () => new Promise(() => undefined) });
  dead.start();
  await dead.journal.publish('task.changed', task('lost'));
  await until(() => expect(dead.store.all('SELECT * FROM leases')).toHaveLength(1));
  dead.kill();
  const seen: string[] = [];
  const heir = open(clock, { 'a/one': (payload) => void seen.push(idOf(payload)) });
  heir.start();
  await clock.advance(2000);
  expect(seen).toEqual([]);
  await clock.advance(8000);
  await until(() => expect(seen).toEqual(['lost']));
});

it('K31 what another process writes is seen within a second', async () => {
  const clock = fakeClock();
  const seen: string[] = [];
  const handlers: Record<string, Handle> = { 'a/one': (payload) => void seen.push(idOf(payload)) };
  const worker = open(clock, handlers);
  const writer = open(clock, handlers);
  worker.start();
  await clock.advance(5000);
  await writer.journal.publish('task.changed', task('other'));
  await clock.advance(1000);
  await until(() => expect(seen).toEqual(['other']));
});

it('K31 an event with a time is delivered at that time, after a restart too, and late once when it was missed', async () => {
  const clock = fakeClock();
  const seen: [string, number][] = [];
  const handlers: Record<string, Handle> = { 'a/one': (payload) => void seen.push([idOf(payload), clock.now()]) };
  const start = clock.now();
  const first = open(clock, handlers);
  first.start();
  await first.journal.publish('task.changed', task('soon'), { at: start + 60_000 });
  await first.journal.publish('task.changed', task('missed'), { at: start + 120_000 });
  await clock.advance(59_000);
  expect(seen).toEqual([]);
  await clock.advance(1500);
  await until(() => expect(seen.map(([id]) => id)).toEqual(['soon']));
  expect(seen[0]?.[1]).toBe(start + 60_000);
  await first.close();
  await clock.advance(600_000);
  open(clock, handlers).start();
  await until(() => expect(seen.map(([id]) => id)).toEqual(['soon', 'missed']));
});

it('K31 a handler that takes its process down each time is not called for ever', async () => {
  const clock = fakeClock();
  const attempts: number[] = [];
  let calls = 0;
  for (let round = 1; round <= 9; round++) {
    const node = open(clock, {
      'a/kills': (_payload, { attempt }) => {
        attempts.push(attempt);
        calls += 1;
        return new Promise(() => undefined);
      },
    });
    if (round === 1) await node.journal.publish('task.changed', task('bad'));
    node.start();
    for (let second = 0; second < 17; second++) await clock.advance(1000);
    await until(() => expect(calls).toBe(round));
    node.kill();
    await node.store.close();
  }
  expect(attempts).toEqual([1, 1, 2, 3, 4, 5, 6, 7, 8]); // before the first kill nobody knew that it would have to be counted
  const last = open(clock, { 'a/kills': () => void (calls += 1) });
  last.start();
  for (let second = 0; second < 17; second++) await clock.advance(1000);
  await until(() => expect(last.store.all('SELECT error FROM deliveries WHERE due < 0')).toHaveLength(1));
  expect(last.store.get('SELECT error FROM deliveries')).toEqual({ error: 'the process that worked on it ended each time' });
  expect(calls).toBe(9);
});

it('K31 after a process was killed, attempts that a stop interrupts are not counted', async () => {
  const clock = fakeClock();
  const dead = open(clock, { 'a/one': () => new Promise(() => undefined) });
  await dead.journal.publish('task.changed', task('long'));
  dead.start();
  await until(() => expect(dead.store.all('SELECT * FROM leases')).toHaveLength(1));
  dead.kill();
  await dead.store.close();
  let called = false;
  const heir = open(clock, {
    'a/one': (_payload, _delivery, signal) => {
      called = true;
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    },
  });
  heir.start();
  for (let second = 0; second < 17; second++) await clock.advance(1000);
  await until(() => expect(called).toBe(true));
  expect(heir.store.get('SELECT attempts FROM deliveries')).toEqual({ attempts: 1 });
  await heir.stop();
  await until(() => expect(heir.store.get('SELECT attempts FROM deliveries')).toEqual({ attempts: 0 }));
});

it('J12: a handler that is busy sees what its process and others write', async () => {
  const clock = fakeClock();
  const { opened: slow, open: free } = gate();
  const seen: string[] = [];
  const handle: Handle = (payload) => {
    seen.push(idOf(payload));
    return idOf(payload) === 'slow' ? slow : undefined;
  };
  const [worker, writer] = [open(clock, { 'a/one': handle }), open(clock, { 'a/one': handle })];
  worker.start();
  await worker.journal.publish('task.changed', task('slow'));
  await until(() => expect(seen).toEqual(['slow']));
  await worker.journal.publish('task.changed', task('own'));
  await until(() => expect(seen).toEqual(['slow', 'own']));
  await writer.journal.publish('task.changed', task('other'));
  await clock.advance(300);
  await until(() => expect(seen).toEqual(['slow', 'own', 'other']));
  free();
});

it('J12: the job of a handler is open while there are deliveries, and waits for the next', async () => {
  const clock = fakeClock();
  const node = open(clock, { 'a/one': () => undefined });
  const jobs = () => node.store.all('SELECT name, state, at FROM jobs');
  node.start();
  await node.journal.publish('task.changed', task('now'));
  await until(() => expect([node.store.all('SELECT 1 FROM deliveries'), jobs()]).toEqual([[], []]));
  const at = clock.now() + 3_600_000;
  await node.journal.publish('task.changed', task('later'), { at });
  await until(() => expect(jobs()).toEqual([{ name: 'deliver a/one', state: 'suspended', at }]));
  await node.journal.publish('task.changed', task('now'));
  await until(() => expect(node.store.all('SELECT due FROM deliveries')).toEqual([{ due: at }]));
  await until(() => expect(jobs()).toEqual([{ name: 'deliver a/one', state: 'suspended', at }]));
});

it('J9: a delivery whose end cannot be written is not made again', async () => {
  const clock = fakeClock();
  let runs = 0;
  const node = open(clock, { 'a/one': () => void (runs += 1) });
  const { write } = node.store;
  node.start();
  await node.journal.publish('task.changed', task('t'));
  node.store.write = (run) =>
    runs === 0 ? write(run) : Promise.reject(Object.assign(new Error('the disk is full'), { code: 'database_failed' }));
  await until(() => expect(node.lines).toContain('the end of a delivery could not be written'));
  node.store.write = write;
  await clock.advance(1000);
  await until(() => expect(node.store.all('SELECT 1 FROM deliveries')).toEqual([]));
  expect(runs).toBe(1);
});

it.each<readonly [string, (rows: Journal['deliveries']) => unknown]>([
  ['due', (rows) => rows.due('a/one', 1, new Map([['k', 1]]), 5)],
  ['ready', (rows) => rows.ready('a/one', 1, 5)],
  ['firstOfKey', (rows) => rows.firstOfKey('a/one', 'k', 1)],
  ['held', (rows) => rows.held('a/one')],
  ['next', (rows) => rows.next('a/one', 1)],
  ['event', (rows) => rows.event('a/one', 1)],
])('J4 J12: the query %s, which is asked as deliveries begin and end, does not read all of its handler', (_, ask) => {
  const { store, queries } = watched(temporaryStore());
  const { deliveries } = createJournal({ store, clock: fakeClock(), handlers: () => ['a/one'], written: () => undefined });
  queries.length = 0;
  ask(deliveries);
  const plans = plansOf(store, queries).filter((detail) => detail.includes('deliveries'));
  expect(plans).toEqual([expect.stringMatching(/^SEARCH deliveries USING .*\(handler=\? AND /)]);
});
