import path from 'node:path';
import { fakeClock } from 'pith/testing';
import { expect, it, onTestFinished } from 'vitest';
import { createStoppedExtensions } from '../../../core/durable/index.ts';
import { createLeases, openStore, sqliteLeaseRows } from '../../../core/store/index.ts';
import { folderWith } from '../../places.ts';

const STOPPED = { extensionId: 'loud', message: 'stopped after 3 crashes', cure: 'correct it', file: '/loud/main.ts', line: 3 };

/** One process that uses the database in `folder`. */
function processOf(folder: string) {
  const clock = fakeClock();
  const store = openStore(path.join(folder, 'pith.db'), clock);
  const warned: string[] = [];
  const logger = { warn: (message: string) => void warned.push(message) } as never;
  const stopped = createStoppedExtensions({ store, leases: createLeases(sqliteLeaseRows(store, clock), clock), logger });
  onTestFinished(async () => {
    await stopped.close();
    await store.close();
    expect(warned).toEqual([]);
  });
  const rows = () => store.all('SELECT extension FROM stopped').length;
  return { ...stopped, clock, rows };
}

it('A4 A3: what one process has stopped is known to others until it gets another chance, or that process ends', async () => {
  const folder = folderWith();
  const [one, two, other] = [processOf(folder), processOf(folder), processOf(folder)];
  expect(await other.known()).toEqual([]);
  one.keep(STOPPED);
  one.keep({ extensionId: 'bare', message: 'x' });
  await expect.poll(other.known).toEqual([{ extensionId: 'bare', message: 'x' }, STOPPED]);
  two.keep({ ...STOPPED, message: 'later' }); // the first says so already
  two.forget('loud');
  one.forget('bare');
  await expect.poll(other.known).toEqual([STOPPED]);
  await one.close();
  expect(await other.known()).toEqual([]);
  expect(other.rows()).toBe(0);
});

it('A4: of a process that was killed nothing is said once its lease is over', async () => {
  const folder = folderWith();
  const [killed, other] = [processOf(folder), processOf(folder)];
  killed.keep(STOPPED);
  await expect.poll(other.known).toEqual([STOPPED]);
  await other.clock.advance(30_001);
  expect(await other.known()).toEqual([]);
});
