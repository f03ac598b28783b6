import { existsSync, renameSync } from 'node:fs';
import type * as fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import type { CacheLayout } from '../../../core/contract/index.ts';
import { openCacheFile } from '../../../core/storage/cache-file.ts';
import { manualClock } from './manual-clock.ts';
import { temporaryFolder } from './temporary-store.ts';

const disk = vi.hoisted(() => ({ fails: '', removing: null as ((file: string) => void) | null }));
const failure = () => Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });

vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  return {
    ...real,
    fsync: (descriptor: number, done: (error: Error | null) => void) =>
      disk.fails === 'fsync' ? done(failure()) : real.fsync(descriptor, done),
    openSync: (file: string, flags: string, mode?: number) => {
      if (disk.fails === 'open' && flags === 'r') throw failure();
      return real.openSync(file, flags, mode);
    },
    lstatSync: (file: string, options: object) => {
      const found = real.lstatSync(file, options);
      disk.removing?.(file);
      return found;
    },
  };
});

afterEach(() => {
  disk.fails = '';
  disk.removing = null;
});

const LAYOUT: CacheLayout = { version: 1, schema: ['CREATE TABLE words (word TEXT)'] };
const instant = { ...manualClock(), sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };

function place() {
  const file = join(temporaryFolder(), 'words.db');
  const warnings: string[] = [];
  const logger = { debug: () => {}, info: () => {}, warn: (line: string) => void warnings.push(line), error: () => {} };
  return { file, warnings, open: (layout = LAYOUT) => openCacheFile({ file, layout, clock: instant, logger }) };
}

it.each(['fsync', 'open'])(
  'R3 a disk that fails at %s makes a write fail in the way that was promised, and closing never',
  async (fails) => {
    const { file, open } = place();
    const cache = await open();
    const put = () => cache.write((statement) => void statement('INSERT INTO words VALUES (?)', 'a'));
    disk.fails = fails;
    await expect(put()).rejects.toMatchObject({ code: 'database_failed', where: file, message: `cache ${file}: EIO: i/o error` });
    await expect(put()).rejects.toMatchObject({ code: 'database_failed' });
    disk.fails = '';
    expect(await put()).toBe(true);
    disk.fails = fails;
    await cache.close();
    disk.fails = '';
    const next = await open();
    expect(next.all('SELECT word FROM words')).toEqual([{ word: 'a' }]);
    await next.close();
  },
);

it('R3 a file of no use that another process has made anew meanwhile is not removed', async () => {
  const { file, warnings, open } = place();
  await (await open({ ...LAYOUT, version: 2 })).close();
  const good = place();
  const other = await good.open();
  await other.write((statement) => void statement('INSERT INTO words VALUES (?)', 'theirs'));
  await other.close();
  let looks = 0;
  disk.removing = (looked) => {
    if (looked !== file || ++looks !== 2) return; // it was looked at, and is opened next
    renameSync(good.file, file);
  };
  const cache = await open();
  expect(cache.all('SELECT word FROM words')).toEqual([{ word: 'theirs' }]);
  expect(warnings).toEqual([]);
  expect(existsSync(file)).toBe(true);
  await cache.close();
});
