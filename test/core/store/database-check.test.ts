import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkDatabase, openDatabase } from '../../../core/store/index.ts';
import { folderWith } from '../../places.ts';

const PAGE = 4096;
const now = () => 0;

/** A database of a few hundred pages in several tables. */
function made(): string {
  const file = path.join(folderWith(), 'pith.db');
  fs.writeFileSync(file, '', { mode: 0o600 });
  const database = openDatabase(file);
  database.exec(
    'CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT); CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID',
  );
  database.exec('CREATE INDEX by_text ON messages (text)');
  const many = 'WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 3000)';
  database.exec(`${many} INSERT INTO messages SELECT i, printf('%0200d', i) FROM n`);
  database.exec(`${many} INSERT INTO kv SELECT printf('key %d', i), printf('%0200d', i) FROM n`);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  return file;
}

/** Numbers that look random and are the same each time. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) & 0x7fffffff) / 0x80000000;
}

function damage(file: string, percent: number, seed: number): void {
  const bytes = fs.readFileSync(file);
  const random = sequence(seed);
  const pages = bytes.length / PAGE;
  for (let left = Math.max(1, Math.round((pages * percent) / 100)); left > 0; left -= 1) {
    const at = (1 + Math.floor(random() * (pages - 1))) * PAGE; // the first page stays: without it there is no database to look at
    for (let index = 0; index < PAGE; index += 1) bytes[at + index] = Math.floor(random() * 256);
  }
  fs.writeFileSync(file, bytes);
}

describe('the check of a database', () => {
  it('T8: says nothing of one that is whole, or missing', () => {
    const file = made();
    expect(checkDatabase(file, now)).toEqual([]);
    expect(checkDatabase(path.join(path.dirname(file), 'absent.db'), now)).toEqual([]);
    expect(fs.existsSync(path.join(path.dirname(file), 'absent.db'))).toBe(false);
  });

  it.each([1, 2, 5, 8, 10, 15, 20, 25, 30, 40, 50, 60])('T8 F25: %i %% damaged pages are told with their tables', (percent) => {
    const file = made();
    damage(file, percent, percent);
    const [finding] = checkDatabase(file, now);
    expect(finding).toMatchObject({ severity: 'error', code: 'database_failed', file, cure: expect.stringContaining('.recover') });
    expect(finding?.message).toMatch(/^the database is damaged: tables (?:kv(?:, messages)?|messages)$/);
  });

  it('T8: says that a whole one cannot be written', () => {
    const file = made();
    const bytes = fs.readFileSync(file);
    bytes[18] = 3; // SQLite may only read what a newer format has written
    fs.writeFileSync(file, bytes);
    const cure = 'make the file and its folder writable';
    expect(checkDatabase(file, now)).toEqual([expect.objectContaining({ severity: 'error', code: 'database_failed', file, cure })]);
    expect(checkDatabase(file, now)[0]?.message).toMatch(/^nothing can be saved: database .*: it is read-only/);
  });

  it('T8: names only the tables that are damaged', () => {
    const file = made();
    const database = openDatabase(file);
    const root = Number(database.get("SELECT rootpage FROM sqlite_schema WHERE name = 'kv'")?.['rootpage']);
    database.close();
    const bytes = fs.readFileSync(file);
    bytes.fill(0xff, (root - 1) * PAGE, root * PAGE);
    fs.writeFileSync(file, bytes);
    expect(checkDatabase(file, now)).toMatchObject([{ message: 'the database is damaged: tables kv' }]);
  });

  it.each([
    ['no database', (file: string) => fs.writeFileSync(file, 'this is no database at all, '.repeat(300))],
    ['without its schema', (file: string) => fs.writeFileSync(file, fs.readFileSync(file).fill(0xff, 100, PAGE))],
    ['cut off', (file: string) => fs.truncateSync(file, 5 * PAGE + 17)],
  ])('T8: one that is %s is never well', (_what, spoil) => {
    const file = made();
    spoil(file);
    expect(checkDatabase(file, now)).toMatchObject([{ severity: 'error', code: 'database_failed', cure: expect.any(String) }]);
  });

  it('T6 F24: a link in its place is told, not followed', () => {
    const file = made();
    fs.renameSync(file, `${file}.real`);
    fs.symlinkSync(`${file}.real`, file);
    expect(checkDatabase(file, now)).toMatchObject([{ severity: 'error', code: 'state_refused' }]);
  });
});
