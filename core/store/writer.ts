import { carried } from '@pith/genai-spans';
import { type Clock, PithError } from '../contract/index.ts';
import type { SqlValue } from './parameters.ts';
import { databaseFailure } from './failure.ts';
import type { SqliteDatabase, Written } from './open-database.ts';

/** Runs one statement within the current write. */
export interface Statement {
  (sql: string, ...parameters: SqlValue[]): Written;
  /** Calls `act` once the write is durable, never when it is rolled back. `act` must not throw. */
  onCommit(act: () => void): void;
}

interface Entry {
  readonly run: (statement: Statement) => void;
  /** Called in order once the write is durable. */
  readonly committed: (() => void)[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The most writes in one transaction; more would block the event loop too long. */
const MAX_BATCH = 500;
/** The most waiting writes; beyond this `write` rejects. */
const MAX_WAITING = 100_000;
const BUSY_LIMIT_MS = 5_000;
const BUSY_PAUSE_MS = 10;

/**
 * Group commit: the writes of one tick share a transaction and its one sync to disk. Each has a savepoint, so that a failing one rejects
 * alone. Waits for another process's lock without blocking the event loop. `verify` throws when a commit would not last.
 */
export function createWriter(database: SqliteDatabase, clock: Clock, verify: () => void = () => undefined) {
  let waiting: Entry[] = [];
  let scheduled = false;
  let closed = false;
  let current: Entry | null = null;
  let busySince: number | null = null;
  const drained: (() => void)[] = [];

  function entryNow(): Entry {
    if (current !== null) return current;
    throw new PithError('parameter_invalid', 'a statement was run after its write had ended', {
      cure: 'run all statements before the function given to write returns',
    });
  }

  const run = (sql: string, ...parameters: SqlValue[]): Written => {
    entryNow();
    return database.run(sql, ...parameters);
  };
  const statement: Statement = Object.assign(run, { onCommit: (act: () => void) => void entryNow().committed.push(carried(act)) });

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  }

  function flush(): void {
    scheduled = false;
    const batch = waiting.length > MAX_BATCH ? waiting.splice(0, MAX_BATCH) : waiting;
    if (batch === waiting) waiting = [];
    if (batch.length > 0 && begin(batch)) commit(batch);
    if (waiting.length > 0) schedule();
    else if (!scheduled) for (const done of drained.splice(0)) done();
  }

  function begin(batch: Entry[]): boolean {
    try {
      database.run('BEGIN IMMEDIATE');
      busySince = null;
      return true;
    } catch (error) {
      const failure = databaseFailure(error, database.file);
      busySince = Math.min(busySince ?? Infinity, clock.now()); // the clock may be set back meanwhile
      if (failure.retryable && clock.now() - busySince < BUSY_LIMIT_MS) {
        waiting = [...batch, ...waiting];
        scheduled = true;
        void clock.sleep(BUSY_PAUSE_MS).then(flush);
        return false;
      }
      busySince = null;
      for (const entry of batch) entry.reject(failure);
      return false;
    }
  }

  function commit(batch: readonly Entry[]): void {
    const done: Entry[] = [];
    try {
      for (const entry of batch) if (runOne(entry, batch.length > 1)) done.push(entry);
      if (done.length > 0) verify();
      if (database.inTransaction) database.run('COMMIT');
      else if (done.length > 0)
        throw new PithError('database_failed', `database ${database.file}: a failed write ended the transaction`, {
          where: database.file,
          retryable: true,
        });
    } catch (error) {
      const failure = databaseFailure(error, database.file);
      for (const entry of batch) entry.reject(failure); // writes that were rejected on their own keep their reason
      abandon();
      return;
    }
    for (const entry of done) {
      entry.resolve();
      for (const act of entry.committed) act();
    }
  }

  function abandon(): void {
    try {
      if (database.inTransaction) database.run('ROLLBACK');
    } catch (error) {
      for (const entry of waiting.splice(0)) entry.reject(databaseFailure(error, database.file)); // nothing can be written before it is reopened
    }
  }

  /** False when the entry failed; it is then rolled back and rejected. */
  function runOne(entry: Entry, shared: boolean): boolean {
    try {
      if (!database.inTransaction)
        throw new PithError('database_failed', `database ${database.file}: an earlier write ended the transaction`, {
          where: database.file,
          retryable: true,
        });
      if (shared) database.run('SAVEPOINT entry');
      current = entry;
      refusePromise(entry.run(statement));
      current = null;
      if (shared) database.run('RELEASE entry');
      return true;
    } catch (error) {
      current = null;
      entry.reject(error);
      // A full disk may have ended the whole transaction already.
      if (database.inTransaction) database.run(shared ? 'ROLLBACK TO entry' : 'ROLLBACK');
      if (database.inTransaction && shared) database.run('RELEASE entry');
      return false;
    }
  }

  return {
    write(run: (statement: Statement) => void): Promise<void> {
      if (closed) return Promise.reject(new PithError('stopped', `database ${database.file}: it has been closed`));
      if (waiting.length >= MAX_WAITING) {
        return Promise.reject(
          new PithError('database_failed', `database ${database.file}: ${MAX_WAITING} writes are waiting`, {
            where: database.file,
            retryable: true,
            cure: 'wait for writes before making more',
          }),
        );
      }
      return new Promise<void>((resolve, reject) => {
        waiting.push({ run: carried(run), committed: [], resolve, reject });
        schedule();
      });
    },
    /** Commits waiting writes; later writes are refused. */
    close() {
      closed = true;
      if (waiting.length === 0 && !scheduled) return Promise.resolve();
      return new Promise<void>((resolve) => void drained.push(resolve));
    },
  };
}

function refusePromise(result: unknown): void {
  if (typeof result !== 'object' || result === null || !('then' in result)) return;
  void Promise.resolve(result).catch(() => undefined); // the error above already rejects this write
  throw new PithError('parameter_invalid', 'the function given to write is asynchronous', { cure: 'await first, then write' });
}
