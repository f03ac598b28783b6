import { describe, expect, it } from 'vitest';
import { manifestSchema } from '../../../core/trust/index.ts';
import { createDatabase, createKeyValue } from '../../../core/store/index.ts';
import { temporaryStore } from './temporary-store.ts';

describe('createDatabase', () => {
  it('lets an extension make, index and search its own tables', async () => {
    const database = createDatabase(temporaryStore(), 'notes');
    await database.write([
      { sql: 'CREATE TABLE notes__items (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT UNIQUE, tags TEXT)' },
      { sql: 'CREATE INDEX notes__by_tags ON notes__items (tags)' },
      { sql: 'CREATE VIRTUAL TABLE notes__text USING fts5 (body)' },
      { sql: 'CREATE TRIGGER notes__copy AFTER INSERT ON notes__items BEGIN INSERT INTO notes__text (body) VALUES (new.body); END' },
      { sql: 'INSERT INTO notes__items (body, tags) VALUES (?, ?)', values: ['a quick fox', '["x","y"]'] },
    ]);
    expect(await database.get('SELECT body FROM notes__text WHERE notes__text MATCH ?', 'fox')).toMatchObject({ body: 'a quick fox' });
    expect((await database.all('SELECT value FROM notes__items, json_each(tags)')).map((row) => row.value)).toEqual(['x', 'y']);
    expect(
      await database.all('WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT count(*) AS c FROM n'),
    ).toMatchObject([{ c: 3 }]);
    await database.write([{ sql: 'ALTER TABLE notes__items ADD COLUMN extra' }, { sql: 'DROP TABLE notes__text' }]);
    expect(await database.get('SELECT extra FROM notes__items')).toMatchObject({ extra: null });
  });

  it.each([
    'SELECT * FROM secret',
    'SELECT * FROM (SELECT a FROM secret)',
    'INSERT INTO secret VALUES (1)',
    'UPDATE secret SET a = 1',
    'DELETE FROM secret',
    'DROP TABLE secret',
    'CREATE TABLE other (a)',
    'CREATE TEMP TABLE notes__temp (a)',
    'CREATE INDEX notes__index ON secret (a)',
    'CREATE INDEX other_index ON notes__mine (a)',
    'ALTER TABLE secret ADD COLUMN b',
    'ALTER TABLE notes__mine RENAME TO other',
    `ATTACH 'x.db' AS other`,
    'PRAGMA synchronous = OFF',
    'COMMIT',
    'SAVEPOINT x',
    `SELECT load_extension('x')`,
    'CREATE TABLE notes__copy AS SELECT * FROM secret',
  ])('refuses %s', async (sql) => {
    const store = temporaryStore();
    store.migrate('secret', ['CREATE TABLE secret (a); CREATE TABLE notes__mine (a); INSERT INTO secret VALUES (42)']);
    const database = createDatabase(store, 'notes');
    const refusal = { code: 'not_allowed', where: 'notes', cure: expect.stringContaining(`'notes__'`) };
    await expect(database.write([{ sql }])).rejects.toMatchObject(refusal);
    expect(store.all('SELECT a FROM secret')).toMatchObject([{ a: 42 }]);
  });

  it('keeps an extension out of tables of another whose id begins with its own', async () => {
    const store = temporaryStore();
    const other = createDatabase(store, 'notes_private');
    await other.write([{ sql: 'CREATE TABLE notes_private__items (a)' }]);
    const database = createDatabase(store, 'notes');
    await expect(database.all('SELECT a FROM notes_private__items')).rejects.toMatchObject({ code: 'not_allowed' });
    await expect(database.write([{ sql: 'CREATE TABLE notes_private__more (a)' }])).rejects.toMatchObject({ code: 'not_allowed' });
    for (const id of ['notes__private', 'notes_', '_notes', 'no.tes', 'n'.repeat(64)])
      expect(manifestSchema().safeParse({ id }).success, id).toBe(false);
    for (const id of ['n', 'notes_2_private', 'n'.repeat(63)]) expect(manifestSchema().safeParse({ id }).success, id).toBe(true);
  });

  it('refuses a trigger and a view that reach other tables, when they are used', async () => {
    const store = temporaryStore();
    store.migrate('secret', ['CREATE TABLE secret (a); INSERT INTO secret VALUES (42)']);
    const database = createDatabase(store, 'notes');
    await database.write([
      { sql: 'CREATE TABLE notes__mine (a)' },
      { sql: 'CREATE TRIGGER notes__reach AFTER INSERT ON notes__mine BEGIN DELETE FROM secret; END' },
      { sql: 'CREATE VIEW notes__view AS SELECT a FROM secret' },
    ]);
    await expect(database.write([{ sql: 'INSERT INTO notes__mine VALUES (1)' }])).rejects.toMatchObject({ code: 'not_allowed' });
    await expect(database.all('SELECT * FROM notes__view')).rejects.toMatchObject({ code: 'not_allowed' });
    expect(store.all('SELECT a FROM secret')).toMatchObject([{ a: 42 }]);
  });

  it('writes nothing when a statement changes another number of rows than it must', async () => {
    const database = createDatabase(temporaryStore(), 'notes');
    const insert = { sql: 'INSERT INTO notes__items VALUES (?)', values: [1] };
    expect(await database.write([{ sql: 'CREATE TABLE notes__items (n INTEGER)' }, insert])).toEqual([0, 1]);
    const taken = { sql: 'UPDATE notes__items SET n = 2 WHERE n = ?', values: [3], changes: 1 };
    await expect(database.write([insert, taken])).rejects.toMatchObject({ code: 'write_conflict', retryable: true });
    expect(await database.all('SELECT n FROM notes__items')).toEqual([{ n: 1 }]);
    expect(await database.write([{ ...taken, values: [1] }])).toEqual([1]);
    const three = { sql: 'INSERT INTO notes__items VALUES (7), (8), (9)' };
    const again = { sql: 'CREATE TABLE IF NOT EXISTS notes__items (n INTEGER)', changes: 0 };
    expect(await database.write([three, again, { sql: 'SELECT 1' }, { sql: 'DELETE FROM notes__items WHERE n > 7' }])).toEqual([
      3, 0, 0, 2,
    ]);
  });

  it('lets queries only read', async () => {
    const database = createDatabase(temporaryStore(), 'notes');
    await database.write([{ sql: 'CREATE TABLE notes__items (n INTEGER)' }]);
    for (const sql of ['INSERT INTO notes__items VALUES (1) RETURNING n', 'CREATE TABLE notes__more (n)'])
      await expect(database.get(sql)).rejects.toMatchObject({ code: 'not_allowed', cure: expect.stringContaining('by write') });
    expect(await database.all('SELECT count(*) AS n FROM notes__items')).toEqual([{ n: 0 }]);
  });

  it.each([
    ['a guard that no write can meet', [{ sql: 'DELETE FROM notes__items', changes: Number.NaN }], 'parameter_invalid'],
    ['no list', null, 'parameter_invalid'],
    ['too many statements', Array.from({ length: 10_001 }, () => ({ sql: 'DELETE FROM notes__items' })), 'parameter_invalid'],
    ['a reference to a table of others', [{ sql: 'CREATE TABLE notes__x (a TEXT REFERENCES /* */ "turns"(state))' }], 'not_allowed'],
    ['a reference without a blank', [{ sql: 'CREATE TABLE notes__x (a REFERENCES"turns"(state))' }], 'not_allowed'],
    [
      'a reference behind what looks like a comment',
      [{ sql: `CREATE TABLE notes__x (y DEFAULT '--', a REFERENCES turns(state))` }],
      'not_allowed',
    ],
    ['a statement that is none', [null], 'parameter_invalid'],
    ['rows of all tables', [{ sql: 'UPDATE sqlite_sequence SET seq = 9' }], 'not_allowed'],
    ['what undoes the writes of others', [{ sql: 'INSERT OR/**/ROLLBACK INTO notes__items VALUES (1)' }], 'not_allowed'],
  ])('refuses %s', async (_, statements, code) => {
    const database = createDatabase(temporaryStore(), 'notes');
    await database.write([{ sql: 'CREATE TABLE notes__items (n INTEGER)' }]);
    await expect(database.write(statements as never)).rejects.toMatchObject({ code });
  });

  it('keeps statements of the kernel and of extensions apart', async () => {
    const store = temporaryStore();
    store.migrate('secret', ['CREATE TABLE secret (a)']);
    expect(store.all('SELECT a FROM secret')).toEqual([]);
    await expect(createDatabase(store, 'notes').all('SELECT a FROM secret')).rejects.toMatchObject({ code: 'not_allowed' });
    expect(store.all('SELECT a FROM secret')).toEqual([]);
  });
});

describe('createKeyValue', () => {
  it('keeps JSON values of each extension apart', async () => {
    const store = temporaryStore();
    const mine = createKeyValue(store, 'mine');
    const other = createKeyValue(store, 'other');
    await Promise.all([mine.set('b/2', { x: [1, null, 'ü\0'] }), mine.set('b/1', 2), mine.set('a', false), other.set('b/1', 'theirs')]);
    expect(await mine.get('b/2')).toEqual({ x: [1, null, 'ü\0'] });
    expect(await mine.get('b/1')).toBe(2);
    expect(await mine.get('missing')).toBeNull();
    expect(await mine.keys()).toEqual(['a', 'b/1', 'b/2']);
    expect(await mine.keys('b/')).toEqual(['b/1', 'b/2']);
    expect(await mine.delete('b/1')).toBe(true);
    expect(await mine.delete('b/1')).toBe(false);
    expect(await other.get('b/1')).toBe('theirs');
  });

  it('bounds keys and values', async () => {
    const kv = createKeyValue(temporaryStore(), 'mine');
    await expect(kv.set('', 1)).rejects.toMatchObject({ code: 'parameter_invalid' });
    await expect(kv.set('ü'.repeat(257), 1)).rejects.toMatchObject({ code: 'parameter_invalid' });
    await expect(kv.set('k', 'x'.repeat(1_048_576))).rejects.toMatchObject({ code: 'parameter_invalid' });
    await expect(kv.set('k', undefined as never)).rejects.toMatchObject({ code: 'parameter_invalid' });
    await kv.set('ü'.repeat(256), 'x'.repeat(1_000_000));
    expect(await kv.keys()).toHaveLength(1);
  });

  it('names a value that is damaged', async () => {
    const store = temporaryStore();
    const kv = createKeyValue(store, 'mine');
    await kv.set('good', 1);
    await store.write((statement) => void statement(`INSERT INTO kv VALUES ('mine', 'bad', '{')`));
    await expect(kv.get('bad')).rejects.toMatchObject({ code: 'database_failed', message: expect.stringContaining(`'bad' of mine`) });
    expect(await kv.get('good')).toBe(1);
  });
});

describe('the quota of values by key', () => {
  it('T7 F21: ends the keys of one extension, not those of another', async () => {
    const store = temporaryStore();
    const kv = createKeyValue(store, 'one', { keys: 3, key_values_mb: 1 });
    for (const key of ['a', 'b', 'c']) await kv.set(key, 1);
    await expect(kv.set('d', 1)).rejects.toMatchObject({ code: 'quota_exceeded', where: 'one', cure: expect.stringContaining('delete') });
    await kv.set('a', 2);
    await createKeyValue(store, 'two', { keys: 3, key_values_mb: 1 }).set('d', 1);
    expect(await kv.delete('a')).toBe(true);
    await kv.set('d', 1);
    expect(await kv.keys()).toEqual(['b', 'c', 'd']);
  });

  it('T7 F21: ends their bytes; what makes them fewer is taken', async () => {
    const store = temporaryStore();
    const kv = createKeyValue(store, 'one', { keys: 100, key_values_mb: 1 });
    await kv.set('a', 'x'.repeat(600_000));
    await expect(kv.set('b', 'ü'.repeat(300_000))).rejects.toMatchObject({ code: 'quota_exceeded' });
    await kv.set('b', 'x'.repeat(400_000));
    const smaller = createKeyValue(store, 'one', { keys: 1, key_values_mb: 1 });
    await smaller.set('a', 'x'.repeat(1000));
    await expect(smaller.set('c', 1)).rejects.toMatchObject({ code: 'quota_exceeded' });
  });

  it('T7: what an earlier version kept is counted', async () => {
    const store = temporaryStore();
    store.migrate('kv', [
      'CREATE TABLE kv (extension TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (extension, key)) WITHOUT ROWID',
    ]);
    await store.write((statement) => {
      for (const key of ['a', 'b']) statement("INSERT INTO kv VALUES ('one', ?, '1')", key);
    });
    const kv = createKeyValue(store, 'one', { keys: 2, key_values_mb: 1 });
    await expect(kv.set('c', 1)).rejects.toMatchObject({ code: 'quota_exceeded' });
    expect(store.get("SELECT keys, bytes FROM kv_use WHERE extension = 'one'")).toEqual({ keys: 2, bytes: 4 });
  });
});
