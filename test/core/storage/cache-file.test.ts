import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, describe, expect, it } from 'vitest';
import type { Cache, CacheLayout } from '../../../core/contract/index.ts';
import { openCacheFile } from '../../../core/storage/cache-file.ts';
import { openDatabase } from '../../../core/storage/open-database.ts';
import { manualClock } from './manual-clock.ts';
import { temporaryFolder } from './temporary-store.ts';

const LAYOUT: CacheLayout = { version: 1, schema: ['CREATE TABLE words (word TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID'] };
const instant = { ...manualClock(), sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };

function place() {
  const file = join(temporaryFolder(), 'words.db');
  const warnings: string[] = [];
  const logger = { debug: () => {}, info: () => {}, warn: (line: string) => void warnings.push(line), error: () => {} };
  const open = async (layout = LAYOUT) => {
    const cache = await openCacheFile({ file, layout, clock: instant, logger });
    onTestFinished(() => cache.close());
    return cache;
  };
  return { file, warnings, open };
}

const put = (cache: Cache, word: string, count = 1) =>
  cache.write((statement) => void statement('REPLACE INTO words VALUES (?, ?)', word, count));
const words = (cache: Cache) => cache.all('SELECT word FROM words ORDER BY word').map(({ word }) => word);

describe('a cache file', () => {
  it('R3 keeps what was written, for several at once, in one file', async () => {
    const { file, warnings, open } = place();
    const [one, two] = await Promise.all([open(), open()]);
    expect([await put(one, 'a'), await put(two, 'b')]).toEqual([true, true]);
    expect([words(one), words(two)]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    await one.close();
    await two.close();
    const three = await open();
    expect(words(three)).toEqual(['a', 'b']);
    expect(existsSync(`${file}-journal`)).toBe(false);
    expect(warnings).toEqual([]);
  });

  it('R3 a write is all or nothing, and false while another one writes', async () => {
    const { file, open } = place();
    const cache = await open();
    await put(cache, 'a');
    await expect(
      cache.write((statement) => {
        statement('REPLACE INTO words VALUES (?, ?)', 'b', 1);
        throw new Error('no further');
      }),
    ).rejects.toThrow('no further');
    const other = openDatabase(file, { settings: 'PRAGMA synchronous = OFF', waits: false });
    other.exec('BEGIN IMMEDIATE');
    expect(await put(cache, 'c')).toBe(false);
    expect(words(cache)).toEqual(['a']);
    other.exec('ROLLBACK');
    other.close();
    expect(await put(cache, 'c')).toBe(true);
    expect(words(cache)).toEqual(['a', 'c']);
  });

  for (const [title, damage, why] of [
    ['cut short', (file: string) => truncateSync(file, statSync(file).size / 2), /malformed/],
    ['of text', (file: string) => writeFileSync(file, '{"not":"ours"}'.repeat(100)), /not a database/],
    ['of another program', foreign, /not a cache of Pith/],
  ] as const) {
    it(`R3 one that is ${title} is rebuilt, with a line`, async () => {
      const { file, warnings, open } = place();
      const before = await open();
      await put(before, 'a');
      await before.close();
      damage(file);
      const cache = await open();
      expect(words(cache)).toEqual([]);
      expect(await put(cache, 'b')).toBe(true);
      expect(warnings).toEqual([expect.stringMatching(new RegExp(`words\\.db is of no use and is rebuilt: .*${why.source}`))]);
    });
  }

  it('R3 one of another layout is rebuilt, with a line', async () => {
    const { warnings, open } = place();
    const before = await open();
    await put(before, 'a');
    await before.close();
    expect(words(await open({ ...LAYOUT, version: 2 }))).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('it has another format')]);
  });

  const ENDLESS =
    'WITH RECURSIVE more(word) AS (SELECT 1 UNION ALL SELECT word + 1 FROM more) SELECT max(word) AS word, 1 AS count FROM more';
  it.each([
    ['a view in place of a table', 'DROP TABLE words', `CREATE VIEW words AS ${ENDLESS}`],
    ['a trigger beside its tables', `CREATE TRIGGER more AFTER INSERT ON words BEGIN ${ENDLESS}; END`],
    ['a table that lacks', 'DROP TABLE words'],
    ['other columns', 'DROP TABLE words', 'CREATE TABLE words (word TEXT, count INTEGER)'],
  ])('R3 one with the right numbers and %s is rebuilt, with a line', async (_, ...statements) => {
    const { file, warnings, open } = place();
    await (await open()).close();
    const other = openDatabase(file, { settings: '', waits: false });
    for (const statement of statements) other.exec(statement);
    other.close();
    const cache = await open();
    expect(await put(cache, 'a')).toBe(true);
    expect(words(cache)).toEqual(['a']);
    expect(warnings).toEqual([expect.stringContaining('it has another format')]);
  });

  it('R3 one whose statements are written as SQLite does not keep them is opened again as it is', async () => {
    const { warnings, open } = place();
    const schema = ['create  table if not exists words (word TEXT, count INTEGER)', 'CREATE INDEX by_count ON words (count)'];
    const before = await open({ version: 1, schema });
    await put(before, 'a');
    await before.close();
    expect(words(await open({ version: 1, schema }))).toEqual(['a']);
    expect(warnings).toEqual([]);
  });

  it('R3 a link in its place is removed, and what that leads to is left as it was', async () => {
    const { file, warnings, open } = place();
    for (const target of [join(file, '../empty'), join(file, '../missing')]) {
      if (target.endsWith('empty')) writeFileSync(target, '');
      symlinkSync(target, file);
      const cache = await open();
      expect(await put(cache, 'a')).toBe(true);
      await cache.close();
      expect(existsSync(target) && statSync(target).size).toBe(target.endsWith('empty') ? 0 : false);
      expect([lstatSync(file).isFile(), lstatSync(file).mode & 0o777]).toEqual([true, 0o600]);
      rmSync(file);
    }
    expect(warnings).toEqual([expect.stringContaining('it is a link'), expect.stringContaining('it is a link')]);
  });

  it('R3 whoever is killed in the middle of a write leaves what stood before', async () => {
    const living = place();
    const { file } = living;
    const before = await living.open();
    await put(before, 'a');
    await before.close();
    const dying = openDatabase(file, { settings: 'PRAGMA synchronous = OFF; PRAGMA cache_size = 1', waits: false });
    dying.exec('BEGIN IMMEDIATE');
    for (let at = 0; at < 3000; at++) dying.run('INSERT INTO words VALUES (?, 1)', `a long word of a big transaction ${at}`);
    const torn = readFileSync(file);
    const left = place();
    writeFileSync(left.file, torn);
    copyFileSync(`${file}-journal`, `${left.file}-journal`);
    dying.close();
    expect(torn.length).toBeGreaterThan(50_000);
    expect(words(await left.open())).toEqual(['a']);
    expect(left.warnings).toEqual([]);
  });

  it('R3 can be deleted while it is in use: what reads goes on, what writes is told, and a new one takes its place', async () => {
    const { file, warnings, open } = place();
    const cache = await open();
    await put(cache, 'a');
    rmSync(file);
    expect(words(cache)).toEqual(['a']);
    await expect(put(cache, 'b')).rejects.toMatchObject({ code: 'database_failed', message: expect.stringContaining('removed while') });
    const next = await open();
    expect(await put(next, 'c')).toBe(true);
    await cache.close();
    expect([words(next), existsSync(file), warnings]).toEqual([['c'], true, []]);
  });

  it('R3 is removed when who reads it finds that it makes no sense', async () => {
    const { file, open } = place();
    const cache = await open();
    await put(cache, 'a');
    cache.spoil();
    await cache.close();
    expect(existsSync(file)).toBe(false);
  });

  it('R3 says why where there can be none', async () => {
    const { file, open } = place();
    mkdirSync(file);
    await expect(open()).rejects.toMatchObject({ code: 'database_failed', where: file });
  });

  it('R3 a file of no use that another process has made anew meanwhile is not removed', async () => {
    const { file, warnings, open } = place();
    await (await open({ ...LAYOUT, version: 2 })).close();
    const good = place();
    const theirs = await good.open();
    await put(theirs, 'theirs');
    await theirs.close();
    const other = openDatabase(file, { settings: 'PRAGMA locking_mode = EXCLUSIVE', waits: false });
    other.exec('BEGIN EXCLUSIVE');
    const opening = open(); // it finds a lock, and looks again
    renameSync(good.file, file);
    other.exec('COMMIT');
    other.close();
    expect([words(await opening), warnings]).toEqual([['theirs'], []]);
  });

  it('R3 gives up on a lock that somebody keeps, and is there again when it is gone', async () => {
    const { file, warnings, open } = place();
    await (await open()).close();
    const other = openDatabase(file, { settings: 'PRAGMA locking_mode = EXCLUSIVE', waits: false });
    other.exec('BEGIN EXCLUSIVE');
    await expect(open()).rejects.toMatchObject({ code: 'database_failed', retryable: true });
    other.exec('COMMIT');
    other.close();
    expect(words(await open())).toEqual([]);
    expect(warnings).toEqual([]);
  });
});

function foreign(file: string): void {
  const other = openDatabase(`${file}.other`, { settings: '', waits: false });
  other.exec('CREATE TABLE theirs (x)');
  other.close();
  copyFileSync(`${file}.other`, file);
}
