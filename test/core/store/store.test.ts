import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { activeTraceparent, underTraceparent } from '@pith/genai-spans';
import { describe, expect, it, vi } from 'vitest';
import { openDatabase, openStore, type Store } from '../../../core/store/index.ts';
import { manualClock } from './manual-clock.ts';
import { temporaryStore } from './temporary-store.ts';
import { folderWith } from '../../places.ts';
import { collectSpans } from '../../span-collector.ts';

function withTable(store = temporaryStore()): Store {
  store.migrate('test', ['CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)']);
  return store;
}

const insert = (store: Store, a: number, b = ''): Promise<void> =>
  store.write((statement) => void statement('INSERT INTO t VALUES (?, ?)', a, b));

const traceparentOf = (a: number) => `00-${String(a).repeat(32)}-${String(a).repeat(16)}-01`;

function numbers(store: Store): unknown[] {
  return store.all('SELECT a FROM t ORDER BY a').map((row) => row.a);
}

describe('a store and its file', () => {
  it('acknowledges nothing that would go to a file without a name', async () => {
    const store = withTable();
    await insert(store, 1);
    rmSync(dirname(store.file), { recursive: true });
    await expect(insert(store, 2)).rejects.toMatchObject({
      code: 'database_failed',
      message: expect.stringContaining('removed while it was in use'),
    });
    mkdirSync(dirname(store.file));
    writeFileSync(store.file, '');
    await expect(insert(store, 3)).rejects.toMatchObject({ message: expect.stringContaining('replaced while it was in use') });
    await store.close();
  });

  it('holds everything by itself after it was closed', async () => {
    const store = withTable();
    await insert(store, 7);
    await store.close();
    const alone = join(folderWith(), 'alone.db');
    copyFileSync(store.file, alone);
    const copy = openDatabase(alone);
    expect(copy.all('SELECT a FROM t').map((row) => row.a)).toEqual([7]);
    copy.close();
  });
});

describe('Store.write', () => {
  it('is committed, for other connections too, when its promise resolves', async () => {
    const store = withTable();
    const other = openDatabase(store.file);
    const promise = insert(store, 1);
    expect(other.all('SELECT a FROM t')).toEqual([]);
    await promise;
    expect(other.all('SELECT a FROM t').map((row) => row.a)).toEqual([1]);
    other.close();
  });

  it('puts the writes of one tick into one transaction', async () => {
    const store = withTable();
    const other = openDatabase(store.file);
    const before = Number(other.get('PRAGMA data_version')?.data_version);
    const seen: number[] = [];
    await Promise.all(
      Array.from({ length: 100 }, (_, a) =>
        store.write((statement) => {
          statement('INSERT INTO t VALUES (?, ?)', a, '');
          seen.push(other.all('SELECT a FROM t').length);
        }),
      ),
    );
    expect(seen).toEqual(Array.from({ length: 100 }, () => 0)); // nothing was visible before the last had run
    expect(Number(other.get('PRAGMA data_version')?.data_version)).toBeGreaterThan(before);
    expect(numbers(store)).toHaveLength(100);
    other.close();
  });

  it('rejects a failing write alone and undoes all of it', async () => {
    const store = withTable();
    const results = await Promise.allSettled([
      insert(store, 1),
      store.write((statement) => {
        statement('INSERT INTO t VALUES (?, ?)', 2, 'half');
        throw new Error('mine');
      }),
      insert(store, 1, 'twice'),
      insert(store, 3),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { message: 'mine' } });
    expect(results[2]).toMatchObject({ reason: { code: 'database_failed' } });
    expect(numbers(store)).toEqual([1, 3]);
    await expect(
      store.write((statement) => {
        statement('INSERT INTO t VALUES (?, ?)', 4, '');
        throw new Error('alone');
      }),
    ).rejects.toThrow('alone');
    expect(numbers(store)).toEqual([1, 3]);
  });

  it('tells of a commit after it, in the order asked for, and never of what was undone', async () => {
    const store = withTable();
    const told: string[] = [];
    const put = (a: number, then = () => undefined as void) =>
      store.write((statement) => {
        statement('INSERT INTO t VALUES (?, ?)', a, '');
        statement.onCommit(() => told.push(`${a} of ${numbers(store).join()}`));
        then();
      });
    const broken = () => {
      throw new Error('mine');
    };
    await Promise.allSettled([put(1), put(2, broken), put(3)]);
    expect(told).toEqual(['1 of 1,3', '3 of 1,3']);
  });

  it('U51 tells of each commit in the trace of its own write, also where writes share a transaction', async () => {
    collectSpans();
    const store = withTable();
    const told: unknown[] = [];
    const put = (a: number) =>
      underTraceparent(traceparentOf(a), () =>
        store.write((statement) => {
          statement('INSERT INTO t VALUES (?, ?)', a, '');
          statement.onCommit(() => told.push(activeTraceparent()));
        }),
      );
    await Promise.all([put(1), put(2), put(3)]);
    expect(told).toEqual([1, 2, 3].map(traceparentOf));
  });

  it('refuses an asynchronous function and a statement after its end', async () => {
    const store = withTable();
    let late: (() => unknown) | undefined;
    await expect(store.write((async () => undefined) as () => void)).rejects.toMatchObject({ code: 'parameter_invalid' });
    await store.write((statement) => {
      late = () => statement('INSERT INTO t VALUES (?, ?)', 9, '');
    });
    expect(late).toThrow(expect.objectContaining({ code: 'parameter_invalid' }));
    expect(numbers(store)).toEqual([]);
  });

  it('waits for the lock of another connection without holding the event loop', async () => {
    const clock = manualClock();
    const store = withTable(temporaryStore(undefined, clock));
    const other = openDatabase(store.file);
    other.exec(`BEGIN IMMEDIATE; INSERT INTO t VALUES (1, '')`);
    const promise = insert(store, 2);
    await vi.waitFor(() => expect(clock.slept).toEqual([10])); // it pauses by the clock, in between everything else runs
    other.exec('COMMIT');
    await clock.advance(10);
    await promise;
    expect(numbers(store)).toEqual([1, 2]);
    other.close();
  });

  it('gives up on a lock that stays, says so, and works afterwards', async () => {
    const store = withTable(temporaryStore(undefined, manualClock({ jump: true })));
    const other = openDatabase(store.file);
    other.exec('BEGIN IMMEDIATE');
    await expect(insert(store, 1)).rejects.toMatchObject({
      code: 'database_failed',
      retryable: true,
      where: store.file,
      message: expect.stringContaining('another process'),
    });
    other.exec('ROLLBACK');
    await insert(store, 2);
    expect(numbers(store)).toEqual([2]);
    other.close();
  });

  it('rejects with the cure when the disk is full, keeps what was saved and recovers', async () => {
    const store = withTable();
    await insert(store, 1);
    const full = store.get('PRAGMA max_page_count = 4');
    expect(full).not.toBeNull();
    const results = await Promise.allSettled(Array.from({ length: 50 }, (_, index) => insert(store, 10 + index, 'x'.repeat(2_000))));
    const failed = results.filter((result) => result.status === 'rejected');
    expect(failed.length).toBeGreaterThan(0);
    for (const result of failed) expect(result.reason).toMatchObject({ code: 'database_failed' });
    expect(failed.some((result) => /disk is full/.test(String(result.reason.message)))).toBe(true);
    expect(numbers(store)).toHaveLength(1 + results.length - failed.length);
    store.get('PRAGMA max_page_count = 100000');
    await insert(store, 2);
    expect(numbers(store)).toContain(2);
  });

  it('commits what waits when it closes and refuses what comes later', async () => {
    const file = join(folderWith(), 'deep', 'pith.db');
    const store = withTable(openStore(file, manualClock()));
    const writes = [insert(store, 1), insert(store, 2)];
    await store.close();
    await Promise.all(writes);
    await expect(insert(store, 3)).rejects.toMatchObject({ code: 'stopped' });
    expect(numbers(temporaryStore(file))).toEqual([1, 2]);
  });
});

describe('Store.migrate', () => {
  it('runs each statement once, also over restarts', async () => {
    const file = join(folderWith(), 'pith.db');
    const first = openStore(file, manualClock());
    first.migrate('notes', ['CREATE TABLE notes (a)']);
    await first.close();
    const second = temporaryStore(file);
    second.migrate('notes', ['CREATE TABLE notes (a)', 'ALTER TABLE notes ADD COLUMN b']);
    second.migrate('notes', ['CREATE TABLE notes (a)', 'ALTER TABLE notes ADD COLUMN b']);
    expect(second.all('SELECT a, b FROM notes')).toEqual([]);
  });

  it('undoes a migration that fails', () => {
    const store = temporaryStore();
    expect(() => store.migrate('bad', ['CREATE TABLE bad (a)', 'CREATE NONSENSE'])).toThrow(
      expect.objectContaining({ code: 'database_failed' }),
    );
    expect(store.get(`SELECT name FROM sqlite_schema WHERE name = 'bad'`)).toBeNull();
  });

  it('refuses tables of a newer version', () => {
    const store = temporaryStore();
    store.migrate('notes', ['CREATE TABLE notes (a)', 'ALTER TABLE notes ADD COLUMN b']);
    expect(() => store.migrate('notes', ['CREATE TABLE notes (a)'])).toThrow(
      expect.objectContaining({ code: 'database_failed', cure: expect.stringContaining('newer Pith') }),
    );
  });
});
