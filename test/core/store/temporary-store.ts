import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from 'pith';
import { type Fence, openStore, sqliteLeaseRows, type Store } from '../../../core/store/index.ts';
import { folderWith } from '../../places.ts';
import { manualClock } from './manual-clock.ts';

/** A store in a folder of its own, closed with the test. */
export function temporaryStore(file = join(folderWith(), 'pith.db'), clock = manualClock()): Store {
  const store = openStore(file, clock);
  onTestFinished(() => store.close());
  return store;
}

/** As `temporaryStore`, without a file: a write waits for no disk. */
export function memoryStore(): Store {
  return temporaryStore(':memory:');
}

/** A lease that nobody gives back, for writing rows without working on a thread. */
export async function lastingFence(store: Store, clock: Pick<Clock, 'now'>): Promise<Fence> {
  const fence = { name: 'test', holder: 'test' };
  await sqliteLeaseRows(store, clock).take(fence, 1e12);
  return fence;
}
