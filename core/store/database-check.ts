import { statSync } from 'node:fs';
import path from 'node:path';
import { someOf } from '@pith/plain-text';
import { type Diagnostic, messageOf, PithError } from '../contract/index.ts';
import { stateFolder } from '@pith/safe-files';
import { isBusy } from './failure.ts';
import { openDatabase, type SqliteDatabase } from './open-database.ts';

const MOST_FINDINGS = 20;
const MOST_TABLES_NAMED = 12;
/** A larger database is checked table by table, within a time limit. */
const LARGE_BYTES = 512 * 1024 * 1024;
const LONGEST_MS = 10_000;

/** Damaged pages of a database, or that it cannot be written, with the cure; empty where it is missing or whole. Never throws. */
export function checkDatabase(file: string, now: () => number): readonly Diagnostic[] {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) return [];
  let database: SqliteDatabase | undefined;
  try {
    stateFolder(path.dirname(file)).database(path.basename(file));
    database = openDatabase(file);
    const whole = size > LARGE_BYTES ? null : damageIn(database, '');
    if (whole === 'none') return unwritable(database);
    const { damaged, unseen } = damagedTables(database, now);
    if (damaged.length > 0 || whole !== null) return [damagedFinding(file, damaged, whole?.[0])];
    return unseen === 0 ? unwritable(database) : [unseenFinding(file, unseen)];
  } catch (error) {
    return [failedFinding(file, error)];
  } finally {
    closeQuietly(database);
  }
}

/** `none`, or SQLite's findings. Damage in the schema itself throws. */
function damageIn(database: SqliteDatabase, table: string): 'none' | readonly string[] {
  const wanted = table === '' ? `${MOST_FINDINGS}` : `"${table.replaceAll('"', '""')}"`;
  const said = database.all(`PRAGMA quick_check(${wanted})`).map((row) => String(Object.values(row)[0]));
  return said.length === 1 && said[0] === 'ok' ? 'none' : said;
}

function damagedTables(database: SqliteDatabase, now: () => number): { readonly damaged: readonly string[]; readonly unseen: number } {
  const tables = database.all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").map(({ name }) => String(name));
  const damaged: string[] = [];
  const until = now() + LONGEST_MS;
  for (const [index, table] of tables.entries()) {
    if (now() > until) return { damaged, unseen: tables.length - index };
    try {
      if (damageIn(database, table) !== 'none') damaged.push(table);
    } catch {
      damaged.push(table); // SQLite could not even walk its pages
    }
  }
  return { damaged, unseen: 0 };
}

/** Writes what is rolled back: to begin alone is allowed where only reading is. */
function unwritable(database: SqliteDatabase): readonly Diagnostic[] {
  try {
    database.withLongWait(() => database.exec('BEGIN IMMEDIATE; CREATE TABLE probe (x); ROLLBACK'));
    return [];
  } catch (error) {
    if (isBusy(error)) return []; // another process writes it, so it can be written
    const { code, message, cure } = error as PithError;
    return [
      {
        severity: 'error',
        code,
        message: `nothing can be saved: ${message}`,
        file: database.file,
        ...(cure === undefined ? {} : { cure }),
      },
    ];
  }
}

function damagedFinding(file: string, tables: readonly string[], said: string | undefined): Diagnostic {
  const where = tables.length === 0 ? `pages of no table (${oneLine(said)})` : `tables ${someOf(tables, MOST_TABLES_NAMED)}`;
  return { severity: 'error', code: 'database_failed', message: `the database is damaged: ${where}`, file, cure: goOn(file) };
}

function failedFinding(file: string, error: unknown): Diagnostic {
  const cure = error instanceof PithError && error.code === 'state_refused' ? error.cure : goOn(file);
  return {
    severity: 'error',
    code: error instanceof PithError ? error.code : 'database_failed',
    message: `the database cannot be read: ${messageOf(error)}`,
    file,
    ...(cure === undefined ? {} : { cure }),
  };
}

function unseenFinding(file: string, tables: number): Diagnostic {
  const message = `the database is large: ${tables} of its tables were not checked for damage`;
  return { severity: 'info', code: 'database_failed', message, file, cure: 'check it with: sqlite3 pith.db "PRAGMA quick_check"' };
}

function goOn(file: string): string {
  const name = path.basename(file);
  return `stop Pith, then restore ${name} from a backup, or save what can be read with: sqlite3 ${name} .recover | sqlite3 new.db, or move ${name}, ${name}-wal and ${name}-shm away to start empty`;
}

function oneLine(text: string | undefined): string {
  return (text ?? '').replace(/\s+/g, ' ').slice(0, 200);
}

function closeQuietly(database: SqliteDatabase | undefined): void {
  try {
    database?.close();
  } catch {
    // the damage is a finding already
  }
}
