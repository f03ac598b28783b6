import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock, SqlRow, SqlValue } from '../contract/index.ts';
import { databaseFailure } from './failure.ts';
import { migrate } from './migrations.ts';
import { openDatabase, type Access } from './open-database.ts';
import { createWriter, type Statement } from './writer.ts';

/** `pith.db`: synchronous reads, writes that are on disk when their promise resolves. */
export interface Store {
  readonly file: string;
  all(sql: string, ...parameters: SqlValue[]): SqlRow[];
  /** The first row, or null. */
  get(sql: string, ...parameters: SqlValue[]): SqlRow | null;
  /** Runs `run` in a transaction that the other writes of this tick share; rejects alone when it throws. `run` must not wait. */
  write(run: (statement: Statement) => void): Promise<void>;
  /** Brings the tables of one module up to date; see `migrate`. */
  migrate(name: string, statements: readonly string[]): void;
  /** Runs `act` with its statements limited by `access`. */
  within<T>(access: Access, act: () => T): T;
  /** Commits what is waiting, then closes. */
  close(): Promise<void>;
}

/** Opens or makes `file` and its folder. Throws `database_failed`. */
export function openStore(file: string, clock: Clock): Store {
  makeFolder(file);
  const database = openDatabase(file);
  const writer = createWriter(database, clock);
  let closing: Promise<void> | undefined;
  return {
    file,
    all: (sql, ...parameters) => database.all(sql, ...parameters),
    get: (sql, ...parameters) => database.get(sql, ...parameters),
    write: (run) => writer.write(run),
    migrate: (name, statements) => database.patiently(() => migrate(database, name, statements)),
    within: (access, act) => database.within(access, act),
    close() {
      return (closing ??= writer.close().then(() => database.close()));
    },
  };
}

function makeFolder(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
  } catch (error) {
    throw databaseFailure(error, file);
  }
}
