import type { Clock, SqlRow, SqlValue } from '../contract/index.ts';
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

/** While running, a lock of another process is waited for by the writer, which leaves the event loop free. */
const BUSY_TIMEOUT_MS = 50;
const MIGRATE_TIMEOUT_MS = 5_000;

export function openStore(file: string, clock: Clock): Store {
  const database = openDatabase(file);
  const writer = createWriter(database, clock);
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  let closing: Promise<void> | undefined;
  return {
    file,
    all: (sql, ...parameters) => database.all(sql, ...parameters),
    get: (sql, ...parameters) => database.get(sql, ...parameters),
    write: (run) => writer.write(run),
    migrate(name, statements) {
      database.exec(`PRAGMA busy_timeout = ${MIGRATE_TIMEOUT_MS}`);
      try {
        migrate(database, name, statements);
      } finally {
        database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      }
    },
    within: (access, act) => database.within(access, act),
    close() {
      return (closing ??= writer.close().then(() => database.close()));
    },
  };
}
