import { beforeEach, expect, it } from 'vitest';
import { fakeClock } from 'pith/testing';
import { createJobStore, Delivering } from '../../../core/durable/index.ts';
import { Postponed } from '../../../core/kernel/index.ts';
import { takenFrom } from './jobs/new-job.ts';
import { openNode, task, type Handle, type Node } from './world.ts';
import { folderWith } from '../../places.ts';
import { gate, passed, until } from '../../waiting.ts';

let folder: string;
let node: Node;
const clock = fakeClock();
const open = (handle: Handle): void => {
  node = openNode(folder, clock, { 'a/one': handle });
  node.start();
};
/** Time passes in such steps until `check` holds. */
const after = (ms: number, check: () => void) => until(() => clock.advance(ms).then(check));
const rows = () => node.store.all('SELECT attempts, due FROM deliveries ORDER BY event');

beforeEach(() => void (folder = folderWith()));

it('K31 K46 a timer whose handler runs on is not begun again while it runs', async () => {
  const { opened: slow, open: free } = gate();
  let runs = 0;
  open(() => ((runs += 1), slow));
  await node.journal.publish('task.changed', task('t'), { at: clock.now() + 200 });
  await after(100, () => expect(runs).toBe(1));
  free();
  await until(() => expect(rows()).toEqual([]));
  expect(runs).toBe(1);
});

it('K31 K46 what is due and waits for a failed one of its key comes after it', async () => {
  const seen: string[] = [];
  open((payload, { attempt }) => {
    const { taskId } = payload as { taskId: string };
    seen.push(`${taskId} ${attempt}`);
    if (taskId === 'first' && attempt < 4) throw new Error('not yet');
  });
  await node.journal.publish('task.changed', task('first'), { at: clock.now() + 100, key: 'k' });
  await node.journal.publish('task.changed', task('second'), { at: clock.now() + 200, key: 'k' });
  await after(100, () => expect(rows()).toMatchObject([{ attempts: 3 }, { attempts: 0 }]));
  await after(500, () => expect(seen).toEqual(['first 1', 'first 2', 'first 3', 'first 4', 'second 1']));
});

it('K31 no code that a handler throws excuses it: it is tried eight times and becomes a dead letter', async () => {
  let runs = 0;
  open(() => {
    runs += 1;
    throw Object.assign(new Error('not my fault'), { code: ['stopped', 'interrupted', 'aborted'][runs % 3] });
  });
  await node.journal.publish('task.changed', task('t'));
  await after(60_000, () => expect(rows()).toEqual([{ attempts: 8, due: -1 }]));
  expect(runs).toBe(8);
});

it('K31 what the kernel postpones does not count, but not for ever', async () => {
  let runs = 0;
  open(() => {
    runs += 1;
    throw new Postponed('the extension is being replaced');
  });
  await node.journal.publish('task.changed', task('t'));
  await after(1000, () => expect(runs).toBeGreaterThan(20));
  expect(rows()).toMatchObject([{ attempts: 0 }]);
  await after(60_000, () => expect(rows()).toEqual([{ attempts: 8, due: -1 }]));
});

it('K31 K46 a failed delivery does not wait for a day because the clock went back; a timer keeps its time', async () => {
  const seen: string[] = [];
  const handle: Handle = (payload, { attempt }) => {
    const { taskId } = payload as { taskId: string };
    seen.push(`${taskId} ${attempt}`);
    if (attempt === 1) throw new Error('not yet');
  };
  open(handle);
  await node.journal.publish('task.changed', task('failed'));
  await node.journal.publish('task.changed', task('timer'), { at: clock.now() + 86_400_000 });
  await until(() => expect(rows()).toMatchObject([{ attempts: 1 }, { attempts: 0 }]));
  await node.store.write((statement) => void statement('UPDATE deliveries SET due = due + 86400000 WHERE attempts = 1'));
  await node.close();
  open(handle);
  await after(1000, () => expect(seen).toEqual(['failed 1', 'failed 2']));
  expect(rows()).toMatchObject([{ attempts: 0 }]);
});

it('B12: nobody begins a delivery that a stopped worker could not end', async () => {
  const { opened: ended, open: free } = gate();
  let atOnce = 0;
  let most = 0;
  let runs = 0;
  const handle: Handle = async () => {
    runs += 1;
    most = Math.max(most, (atOnce += 1));
    await ended; // whatever its signal says
    atOnce -= 1;
    if (runs === 1) throw new Error('stopped');
  };
  open(handle);
  await node.journal.publish('task.changed', task('t'));
  await until(() => expect(runs).toBe(1));
  const other = openNode(folder, clock, { 'a/one': handle });
  await passed(clock, node.stop());
  other.start();
  for (let second = 0; second < 60; second += 1) await clock.advance(1000);
  expect({ runs, most }).toEqual({ runs: 1, most: 1 });
  free();
  await after(1000, () => expect(runs).toBe(2));
  expect(most).toBe(1);
  await until(() => expect(rows()).toEqual([]));
});

it('B12: nothing is begun again in a process whose lease was lost before what it began has ended', async () => {
  const { opened: ended, open: free } = gate();
  let runs = 0;
  open(() => ((runs += 1), ended));
  await node.journal.publish('task.changed', task('t'));
  await until(() => expect(runs).toBe(1));
  await node.store.write((statement) => void statement('DELETE FROM leases'));
  for (let second = 0; second < 30; second += 1) await clock.advance(1000);
  expect(runs).toBe(1);
  free();
  await until(() => expect(rows()).toEqual([]));
});

it('B12: what a worker says that has lost its lease changes no delivery', async () => {
  let fail = (): void => undefined;
  const failed = new Promise<void>((_, reject) => (fail = () => reject(new Error('too late'))));
  let runs = 0;
  open(() => ((runs += 1), failed));
  await node.journal.publish('task.changed', task('t'));
  await until(() => expect(runs).toBe(1));
  await node.store.write((statement) => {
    statement('UPDATE jobs SET fence = fence + 1');
    statement('UPDATE deliveries SET due = -1, attempts = 8');
  });
  fail();
  await node.store.write(() => undefined);
  await until(() => expect(node.lines).toContain('a delivery failed and is tried again'));
  await node.store.write(() => undefined);
  expect(rows()).toEqual([{ attempts: 8, due: -1 }]);
});

it('B5: a delivery that was postponed leaves nothing behind when it ends', async () => {
  let left = 100;
  const calls = { callable: () => new Set(['a/one']), sideBySide: () => 16 };
  node = openNode(folder, clock, { 'a/one': () => undefined });
  const deliver = async (_handler: string, _payload: unknown, { attempt }: { readonly attempt: number }) => {
    expect(attempt).toBe(1); // a postponement does not count
    if ((left -= 1) >= 0) throw new Postponed('the extension is being replaced');
  };
  for (let count = 0; count < 100; count += 1) await node.journal.publish('task.changed', task('t'), count % 2 ? { key: 'k' } : {});
  const [{ id } = { id: '' }] = await takenFrom(createJobStore(node.store, clock), 'deliver a/one');
  const attempt = { id, fence: 1, handler: 'a/one', isCounted: false };
  const options = { ...calls, rows: node.journal.deliveries, clock, logger: node.logger, call: deliver };
  const delivering = new Delivering(options, attempt, new AbortController().signal);
  const work = delivering.work();
  await until(() => expect(delivering.size).toBeGreaterThan(50));
  await after(500, () => expect(rows()).toEqual([]));
  expect(await work).toBe(null);
  expect(delivering.size).toBe(0);
});
