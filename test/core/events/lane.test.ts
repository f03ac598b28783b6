import { afterEach, beforeEach, expect, it } from 'vitest';
import { fakeClock } from '../../../core/testing/fake-clock.ts';
import { Postponed } from '../../../core/events/postponed.ts';
import { openNode, task, temporaryFolder, until, type Handle, type Node } from './world.ts';

let place: Awaited<ReturnType<typeof temporaryFolder>>;
let node: Node;
const clock = fakeClock();
const open = (handle: Handle): void => {
  node = openNode(place.folder, clock, { 'a/one': handle });
  node.deliveries.start();
};
const rows = () => node.store.all('SELECT attempts, due FROM deliveries ORDER BY event');

/** How often the disk is asked while a second goes by. */
async function readsInASecond(): Promise<number> {
  const { get, all } = node.store;
  let reads = 0;
  Object.assign(node.store, {
    get: (...values: Parameters<typeof get>) => ((reads += 1), get.apply(node.store, values)),
    all: (...values: Parameters<typeof all>) => ((reads += 1), all.apply(node.store, values)),
  });
  for (let passed = 0; passed < 1000; passed += 10) await clock.advance(10);
  Object.assign(node.store, { get, all });
  return reads;
}

beforeEach(async () => void (place = await temporaryFolder()));
afterEach(async () => {
  await node.close();
  await place.remove();
});

it('K31 K46 a timer whose handler runs on is not looked for again and again', async () => {
  let free = (): void => undefined;
  const slow = new Promise<void>((resolve) => (free = resolve));
  let runs = 0;
  open(() => ((runs += 1), slow));
  await node.journal.publish('task.changed', task('t'), { at: clock.now() + 200 });
  await until(async () => {
    await clock.advance(100);
    expect(runs).toBe(1);
  });
  expect(await readsInASecond()).toBeLessThan(40);
  free();
  await until(() => expect(rows()).toEqual([]));
  expect(runs).toBe(1);
});

it('K31 K46 what is due and waits for a failed one of its key costs nothing meanwhile, and comes after it', async () => {
  const seen: string[] = [];
  open((payload, { attempt }) => {
    const { taskId } = payload as { taskId: string };
    seen.push(`${taskId} ${attempt}`);
    if (taskId === 'first' && attempt < 4) throw new Error('not yet');
  });
  await node.journal.publish('task.changed', task('first'), { at: clock.now() + 100, key: 'k' });
  await node.journal.publish('task.changed', task('second'), { at: clock.now() + 200, key: 'k' });
  await until(async () => {
    await clock.advance(100);
    expect(rows()).toMatchObject([{ attempts: 3 }, { attempts: 0 }]);
  });
  expect(await readsInASecond()).toBeLessThan(40);
  await until(async () => {
    await clock.advance(500);
    expect(seen).toEqual(['first 1', 'first 2', 'first 3', 'first 4', 'second 1']);
  });
});

it('K31 no code that a handler throws excuses it: it is tried eight times and becomes a dead letter', async () => {
  let runs = 0;
  open(() => {
    runs += 1;
    throw Object.assign(new Error('not my fault'), { code: ['stopped', 'interrupted', 'aborted'][runs % 3] });
  });
  await node.journal.publish('task.changed', task('t'));
  await until(async () => {
    await clock.advance(60_000);
    expect(rows()).toEqual([{ attempts: 8, due: -1 }]);
  });
  expect(runs).toBe(8);
});

it('K31 what the kernel postpones does not count, but not for ever', async () => {
  let runs = 0;
  open(() => {
    runs += 1;
    throw new Postponed('the extension is being replaced');
  });
  await node.journal.publish('task.changed', task('t'));
  await until(async () => {
    await clock.advance(1000);
    expect(runs).toBeGreaterThan(20);
  });
  expect(rows()).toMatchObject([{ attempts: 0 }]);
  await until(async () => {
    await clock.advance(60_000);
    expect(rows()).toEqual([{ attempts: 8, due: -1 }]);
  });
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
  await until(async () => {
    await clock.advance(1000);
    expect(seen).toEqual(['failed 1', 'failed 2']);
  });
  expect(rows()).toMatchObject([{ attempts: 0 }]);
});
