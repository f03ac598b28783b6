import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Clock, PithError } from '../contract/index.ts';
import type { SqlValue, SqlRow } from './parameters.ts';
import { stateFolder } from '@pith/safe-files';
import { databaseFailure } from './failure.ts';
import { openDatabase, type SqliteDatabase, type Access } from './open-database.ts';
import { createWriter, type Statement } from './writer.ts';

/** `pith.db`: reads are synchronous, and a write is durable when its promise resolves. */
export interface Store {
  readonly file: string;
  all(sql: string, ...parameters: SqlValue[]): SqlRow[];
  /** The first row, or null. */
  get(sql: string, ...parameters: SqlValue[]): SqlRow | null;
  /** Runs `run` in a transaction that all writes of this tick share; only this write rejects when `run` throws. `run` is synchronous. */
  write(run: (statement: Statement) => void): Promise<void>;
  /** Migrates the tables of one module; see `migrate`. */
  migrate(name: string, statements: readonly string[]): void;
  /** Runs `act` with its statements limited by `access`. */
  within<T>(access: Access, act: () => T): T;
  /** Commits waiting writes, then closes. */
  close(): Promise<void>;
}

/** The file of a store that is gone with its connection. */
export const IN_MEMORY = ':memory:';

/** Opens or creates `file` and its folder. Throws `database_failed`. */
export function openStore(file: string, clock: Clock): Store {
  const isFile = file !== IN_MEMORY;
  if (isFile) makeFile(file);
  const database = openDatabase(file);
  const writer = createWriter(database, clock, isFile ? identityCheck(file) : undefined);
  let closing: Promise<void> | undefined;
  return {
    file,
    all: (sql, ...parameters) => database.all(sql, ...parameters),
    get: (sql, ...parameters) => database.get(sql, ...parameters),
    write: (run) => writer.write(run),
    migrate: (name, statements) => database.withLongWait(() => migrate(database, name, statements)),
    within: (access, act) => database.within(access, act),
    close() {
      return (closing ??= writer.close().then(() => finish(database)));
    },
  };
}

/** Checkpoints the WAL, so that the file alone is the whole store; if another process still reads, the last process does it. */
function finish(database: SqliteDatabase): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    if (!(error instanceof PithError)) throw error;
  }
  database.close();
}

/** A write to a file that no longer has a name is lost when the process ends, so it must not be acknowledged. */
function identityCheck(file: string): () => void {
  const opened = statSync(file);
  return () => {
    const now = statSync(file, { throwIfNoEntry: false });
    if (now?.ino === opened.ino && now.dev === opened.dev) return;
    throw new PithError('database_failed', `database ${file}: it was ${now ? 'replaced' : 'removed'} while it was in use`, {
      where: file,
      cure: 'put it back or start Pith again',
    });
  };
}

/** SQLite follows links and gives the files beside it the mode of this one: conversations are private. */
function makeFile(file: string): void {
  try {
    stateFolder(dirname(file)).database(basename(file));
  } catch (error) {
    throw databaseFailure(error, file);
  }
}

/**
 * Migrates the tables of one module to the version `statements.length`. Statement `n` leads from version `n` to `n + 1` and never changes
 * once released. Safe when several processes start at once.
 */
export function migrate(database: SqliteDatabase, name: string, statements: readonly string[]): void {
  if (versionOf(database, name) === statements.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    database.exec('CREATE TABLE IF NOT EXISTS migrations (module TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID');
    const version = versionOf(database, name);
    if (version > statements.length) throw newer(database.file, name, version, statements.length);
    for (const statement of statements.slice(version)) database.exec(statement);
    database.run(
      'INSERT INTO migrations VALUES (?, ?) ON CONFLICT (module) DO UPDATE SET version = excluded.version',
      name,
      statements.length,
    );
    database.exec('COMMIT');
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(database: SqliteDatabase, name: string): number {
  const known = database.get(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`);
  return known === null ? 0 : Number(database.get('SELECT version FROM migrations WHERE module = ?', name)?.version ?? 0);
}

function newer(file: string, name: string, version: number, known: number): PithError {
  return new PithError('database_failed', `database ${file}: its ${name} tables have version ${version}, this Pith knows ${known}`, {
    where: file,
    cure: 'use the newer Pith that wrote it',
  });
}
