import { PithError } from '../contract/errors.ts';
import type { SqliteDatabase } from './open-database.ts';

/**
 * Brings the tables of one module to the version `statements.length`. Statement `n` leads from version `n` to `n + 1` and is
 * never changed once released. Safe when several processes start at once.
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
