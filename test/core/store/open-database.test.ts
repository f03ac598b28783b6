import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stateFolder } from '@pith/safe-files';
import { checkDatabase, openDatabase } from '../../../core/store/index.ts';
import { folderWith } from '../../places.ts';

type SqlValue = Parameters<ReturnType<typeof open>['run']>[1];

function open(file = join(folderWith(), 'test.db')) {
  const database = openDatabase(file);
  onTestFinished(() => database.close());
  return database;
}

function withTable() {
  const database = open();
  database.exec('CREATE TABLE t (a INTEGER, b TEXT)');
  return database;
}

describe('openDatabase', () => {
  it('uses WAL, syncs fully and keeps foreign keys', () => {
    const database = open();
    expect(database.get('PRAGMA journal_mode')).toMatchObject({ journal_mode: 'wal' });
    expect(database.get('PRAGMA synchronous')).toMatchObject({ synchronous: 2 });
    expect(database.get('PRAGMA foreign_keys')).toMatchObject({ foreign_keys: 1 });
  });

  it('T6 T8: a database that is open here keeps its log when it is looked at again, whatever another process does', () => {
    const folder = folderWith();
    const file = stateFolder(folder).database('pith.db');
    const database = open(file);
    database.exec('CREATE TABLE t (a INTEGER)');
    stateFolder(folder).database('pith.db');
    expect(checkDatabase(file, () => 0)).toEqual([]);
    database.run('INSERT INTO t VALUES (1)');
    const log = statSync(`${file}-wal`).ino;
    const other =
      "const { DatabaseSync } = require('@photostructure/sqlite'); const it = new DatabaseSync(process.argv[1]); it.prepare('SELECT 1 FROM t').get(); it.close();";
    execFileSync(process.execPath, ['-e', other, file]);
    expect(statSync(`${file}-wal`).ino).toBe(log);
    database.run('INSERT INTO t VALUES (2)');
    expect(open(file).get('SELECT count(*) AS n FROM t')).toMatchObject({ n: 2 });
  });

  it('B12: a long wait within a long wait lasts until the outer one ends', () => {
    const database = open();
    const waits = () => Number(database.get('PRAGMA busy_timeout')?.timeout);
    const usual = waits();
    const [before, after] = database.withLongWait(() => {
      const outer = waits();
      database.withLongWait(() => undefined);
      return [outer, waits()];
    });
    expect(after).toBe(before);
    expect(before).toBeGreaterThan(usual);
    expect(waits()).toBe(usual);
  });

  it.each<[string, readonly unknown[], string]>([
    ['too few', [1], 'it has 2 parameter(s), 1 given'],
    ['too many', [1, 'x', 2], 'it has 2 parameter(s), 3 given'],
    ['NUL', [1, 'a\0b'], 'parameter 2 contains a NUL'],
    ['an unsafe integer', [2 ** 60, 'x'], 'parameter 1 is an integer beyond'],
    ['NaN', [Number.NaN, 'x'], 'parameter 1 is NaN'],
    ['a boolean', [true, 'x'], 'parameter 1 is a boolean'],
    ['a date', [new Date(0), 'x'], 'parameter 1 is a Date'],
    ['undefined', [undefined, 'x'], 'parameter 1 is undefined'],
    ['an object', [{ a: 1 }, 'x'], 'parameter 1 is an object'],
    ['a bigint beyond 64 bits', [2n ** 63n, 'x'], 'parameter 1 is beyond 64 bits'],
  ])('refuses %s', (_name, values, text) => {
    const database = withTable();
    expect(() => database.run('INSERT INTO t VALUES (?, ?)', ...(values as SqlValue[]))).toThrow(
      expect.objectContaining({ code: 'parameter_invalid', message: expect.stringContaining(text) }),
    );
    expect(database.all('SELECT * FROM t')).toEqual([]);
  });

  it('keeps every kind of value as it was given', () => {
    const database = withTable();
    database.exec('CREATE TABLE loose (value)');
    const values: SqlValue[] = [null, 3, 1.5, 2n ** 60n, 'naïve ☕ \' "', new Uint8Array([0, 255])];
    for (const value of values) database.run('INSERT INTO loose VALUES (?)', value);
    expect(database.all('SELECT value FROM loose ORDER BY rowid').map((row) => row.value)).toEqual(values);
    expect(database.get('SELECT typeof(?) AS type', 3)).toMatchObject({ type: 'integer' });
    expect(database.get('SELECT 1 AS small, ? AS large', 2n ** 60n)).toMatchObject({ small: 1, large: 2n ** 60n });
    expect(database.get('SELECT 1 AS small')).toMatchObject({ small: 1 });
  });

  it('counts only real parameters and takes one statement at a time', () => {
    const database = open();
    database.exec('CREATE TABLE t ("a?", "b?", "c?", a)');
    const sql = `SELECT '?', "a?", [b?], \`c?\` -- ?\n , ? /* ? */ , 'it''s ?' FROM t WHERE a = ?;  -- end`;
    expect(database.all(sql, 1, 2)).toEqual([]);
    for (const values of [[1], [1, 2, 3]]) expect(() => database.all(sql, ...values)).toThrow(/2/);
    expect(() => database.all('SELECT 1; DELETE FROM t')).toThrow(/more than one statement/);
    expect(() => database.all('SELECT :name')).toThrow(/':name'/);
    expect(() => database.all('SELECT ?1')).toThrow(/'\?1'/);
  });

  it('reports a damaged file with its name and a cure, and leaves it as it is', () => {
    const file = join(folderWith(), 'broken.db');
    writeFileSync(file, 'this is no database '.repeat(500));
    expect(() => openDatabase(file)).toThrow(
      expect.objectContaining({
        code: 'database_failed',
        where: file,
        message: expect.stringContaining('damaged'),
        cure: expect.stringContaining('backup'),
      }),
    );
    expect(existsSync(file)).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe('this is no database '.repeat(500));
  });

  it('reports a file that cannot be opened', () => {
    const file = join(folderWith(), 'missing', 'x.db');
    expect(() => openDatabase(file)).toThrow(
      expect.objectContaining({ code: 'database_failed', where: file, cure: expect.stringContaining('folder') }),
    );
  });

  it('reports a full disk with what to do, and works again when there is space', () => {
    const database = withTable();
    database.exec('PRAGMA max_page_count = 4');
    const fill = (): void => {
      for (let count = 0; count < 1_000; count += 1) database.run('INSERT INTO t VALUES (?, ?)', count, 'x'.repeat(500));
    };
    expect(fill).toThrow(
      expect.objectContaining({
        code: 'database_failed',
        message: expect.stringContaining('the disk is full'),
        cure: expect.stringContaining('free some space'),
      }),
    );
    database.exec('PRAGMA max_page_count = 100000');
    expect(fill).not.toThrow();
  });
});
