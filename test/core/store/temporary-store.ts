import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openStore, type Store } from '../../../core/store/store.ts';
import { manualClock } from './manual-clock.ts';

/** A folder that goes away with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pith-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A store in a folder of its own, closed with the test. */
export function temporaryStore(file = join(temporaryFolder(), 'pith.db'), clock = manualClock()): Store {
  const store = openStore(file, clock);
  onTestFinished(() => store.close());
  return store;
}
