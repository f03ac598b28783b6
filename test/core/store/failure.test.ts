import { describe, expect, it } from 'vitest';
import { codeOf, messageOf } from 'pith';
import { createDatabase, databaseFailure, isBusy, type Store } from '../../../core/store/index.ts';
import { temporaryStore } from './temporary-store.ts';

describe('what a driver throws without a code', () => {
  it('R3 is told by its words: a lock is tried again, a torn file is rebuilt', () => {
    expect(isBusy(new Error('database is locked'))).toBe(true);
    expect(isBusy(Object.assign(new Error('any words'), { errcode: 5 | (1 << 8) }))).toBe(true);
    expect(isBusy(new Error('no such table: database is locked'))).toBe(false);
    expect(databaseFailure(new Error('database is locked'), '/a.db')).toMatchObject({ code: 'database_failed', retryable: true });
  });
});

/** Every way in which a statement fails: of the kernel, and of an extension. */
const INSERT = 'INSERT INTO ext__notes VALUES (?, ?)';
const UNDO = 'INSERT OR ROLLBACK INTO ext__notes VALUES (1, 2)';
const extension = (store: Store) => createDatabase(store, 'ext');
const written = (store: Store, ...values: (string | number)[]) => store.write((statement) => void statement(INSERT, ...values));

it.each<readonly [string, (store: Store) => unknown, code: string, message: string]>([
  ['a NUL', (store) => written(store, 'a\0', 'b'), 'parameter_invalid', 'parameter 1 contains a NUL character'],
  ['too few values', (store) => written(store, 'a'), 'parameter_invalid', 'it has 2 parameter(s), 1 given'],
  ['two statements', (store) => store.all('SELECT 1; DELETE FROM ext__notes'), 'parameter_invalid', 'more than one statement'],
  ['a row that is there', (store) => written(store, 'first', 'b'), 'database_failed', 'it refused a statement of Pith itself'],
  ['a table that is not', (store) => store.all('SELECT a FROM nowhere'), 'database_failed', 'it refused a statement of Pith itself'],
  [
    'no SQL at all',
    (store) => store.write((statement) => void statement('INSRT INTO x')),
    'database_failed',
    'it refused a statement of Pith itself',
  ],
  [
    'a migration that fails',
    (store) => store.migrate('m', ['CREATE TABLE ext__notes (a)']),
    'database_failed',
    'it refused a statement of Pith itself',
  ],
  [
    "an extension's NUL",
    (store) => extension(store).all('SELECT a FROM ext__notes WHERE a = ?', '\0'),
    'parameter_invalid',
    'parameter 1 contains',
  ],
  [
    "an extension's row that is there",
    (store) => extension(store).write([{ sql: INSERT, values: ['first', 'b'] }]),
    'database_failed',
    'a statement failed',
  ],
  ["an extension's slip", (store) => extension(store).all('SELECT FROM ext__notes'), 'database_failed', 'a statement failed'],
  ['a table of another', (store) => extension(store).all('SELECT a FROM other__notes'), 'database_failed', 'a statement failed'],
  [
    'another number of rows',
    (store) => extension(store).write([{ sql: 'DELETE FROM ext__notes WHERE a = 2', changes: 1 }]),
    'write_conflict',
    'statement 1 changed 0 rows, not 1',
  ],
  ['what undoes others', (store) => extension(store).write([{ sql: UNDO }]), 'not_allowed', 'of statement 1: it would undo'],
  [
    'a number that is none',
    (store) => extension(store).write([{ sql: UNDO, changes: -1 }]),
    'parameter_invalid',
    "'changes' of statement 1",
  ],
  [
    'a foreign reference',
    (store) => extension(store).write([{ sql: 'CREATE TABLE ext__b (a REFERENCES other__t)' }]),
    'not_allowed',
    "table 'other__t'",
  ],
])('V1 no SQL reaches a person or a model: %s', async (_, act, code, message) => {
  const store = temporaryStore();
  await store.write((statement) => void statement('CREATE TABLE ext__notes (a PRIMARY KEY, b)'));
  await written(store, 'first', 'b');
  const error: unknown = await (async () => act(store))().then(
    () => null,
    (failed: unknown) => failed,
  );
  expect([codeOf(error, ''), messageOf(error)]).toEqual([code, expect.stringContaining(message)]);
  expect(messageOf(error)).not.toMatch(/\b(?:SELECT|INSERT|INSRT|UPDATE|DELETE|CREATE|VALUES|WHERE|FROM)\b/u);
  expect((error as Error).cause).toBeInstanceOf(Error); // for a log
});
