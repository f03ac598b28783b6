import { messageOf } from '../contract/index.ts';
import { type SqlValue, type SqlRow, checkParameters, countParameters, withExactIntegers } from './parameters.ts';
import { loadDriver, type Authorize, type Driver, type DriverDatabase, type DriverStatement } from './driver.ts';
import { databaseFailure, isBusy } from './failure.ts';

/** The result of a statement. */
export interface Written {
  readonly changes: number;
  /** The id of the last inserted row; a number where it is a safe integer. */
  readonly lastInsertRowid: number | bigint;
}

/** One connection. All calls are synchronous; failures are `database_failed`, bad parameters `parameter_invalid`. */
export interface SqliteDatabase {
  readonly file: string;
  readonly inTransaction: boolean;
  all(sql: string, ...parameters: SqlValue[]): SqlRow[];
  get(sql: string, ...parameters: SqlValue[]): SqlRow | null;
  run(sql: string, ...parameters: SqlValue[]): Written;
  /** Any number of statements without parameters or results. */
  exec(sql: string): void;
  /** Runs `act`; `access` decides each access of its statements, also when SQLite recompiles them. */
  within<T>(access: Access, act: () => T): T;
  /** Runs `act` with a long wait for locks, which blocks the event loop; without it a locked database fails within milliseconds. */
  withLongWait<T>(act: () => T): T;
  close(): void;
}

/** Decides what statements may touch. Create one and keep it, since the statement cache uses it as a key. */
export interface Access {
  readonly authorize: Authorize;
  /** The error for a denied statement. */
  denied(): Error;
}

interface Prepared {
  readonly statement: DriverStatement;
  readonly parameters: number;
}

type Statements = Map<string, Prepared>;

const MAX_STATEMENTS = 500;
const LONG_WAIT_MS = 5_000;
/** Waiting here blocks the event loop; the writer waits outside instead. */
const BUSY_MS = 5;

/** WAL and `synchronous=FULL`: a commit survives `kill -9` and a power cut. */
const SETTINGS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON';

/** Opens or creates `file`. */
export function openDatabase(file: string): SqliteDatabase {
  return new Connection(file, loadDriver());
}

class Connection implements SqliteDatabase {
  private readonly driver: DriverDatabase;
  private readonly kernelStatements: Statements = new Map();
  private guarded = new WeakMap<Access, Statements>();
  private access: Access | null = null;
  private authorizing = false;
  /** How long a statement waits for a lock, blocking the event loop. */
  private waitMs = BUSY_MS;
  private refused = false;

  constructor(
    readonly file: string,
    private readonly kind: Driver,
  ) {
    this.driver = this.attempt(() => kind.open(file, LONG_WAIT_MS));
    try {
      this.configure();
    } catch (error) {
      this.driver.close();
      throw error;
    }
  }

  get inTransaction(): boolean {
    return this.driver.isTransaction;
  }

  all(sql: string, ...parameters: SqlValue[]): SqlRow[] {
    return this.read(sql, parameters, (statement, values) => statement.all(...values) as SqlRow[]);
  }

  get(sql: string, ...parameters: SqlValue[]): SqlRow | null {
    return this.read(sql, parameters, (statement, values) => (statement.get(...values) as SqlRow | undefined) ?? null);
  }

  run(sql: string, ...parameters: SqlValue[]): Written {
    const { statement } = this.prepare(sql, parameters);
    try {
      return statement.run(...this.bound(parameters)) as Written;
    } catch (error) {
      throw this.failure(error);
    }
  }

  exec(sql: string): void {
    this.attempt(() => this.driver.exec(sql));
  }

  within<T>(access: Access, act: () => T): T {
    if (!this.authorizing) {
      // Set once, and asks `access` at each compilation: setting it again would expire every prepared statement.
      this.driver.setAuthorizer((...details) => {
        const verdict = this.access === null ? 0 : this.access.authorize(...details);
        if (verdict !== 0) this.refused = true;
        return verdict;
      });
      this.authorizing = true;
    }
    const outer = this.access;
    this.access = access;
    this.refused = false;
    try {
      return act();
    } finally {
      this.access = outer;
    }
  }

  withLongWait<T>(act: () => T): T {
    const outer = this.waitMs;
    this.waitUpTo(LONG_WAIT_MS);
    try {
      return act();
    } finally {
      this.waitUpTo(outer);
    }
  }

  close(): void {
    // The package keeps the files open until the last statement is garbage-collected.
    this.kernelStatements.clear();
    this.guarded = new WeakMap();
    this.attempt(() => this.driver.close());
  }

  private configure(): void {
    // The first switch to WAL ignores the busy timeout, so two processes that create the file at once may collide.
    for (let attempt = 1; ; attempt += 1) {
      try {
        this.driver.exec(SETTINGS);
        this.driver.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
        return;
      } catch (error) {
        if (!isBusy(error) || attempt === 100) throw databaseFailure(error, this.file);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      }
    }
  }

  /** A statement of the kernel: the extension's access does not apply. */
  private waitUpTo(ms: number): void {
    const { access } = this;
    this.access = null;
    try {
      if (ms !== this.waitMs) this.exec(`PRAGMA busy_timeout = ${ms}`);
    } finally {
      this.access = access;
    }
    this.waitMs = ms;
  }

  private read<T>(sql: string, parameters: readonly SqlValue[], act: (statement: DriverStatement, values: readonly SqlValue[]) => T): T {
    const { statement } = this.prepare(sql, parameters);
    const values = this.bound(parameters);
    try {
      return act(statement, values);
    } catch (error) {
      // A reader meets a lock only while another process recovers or closes the file.
      if (isBusy(error)) return this.withLongWait(() => this.attempt(() => act(statement, values)));
      if (!/too large to be represented/.test(messageOf(error))) throw this.failure(error);
      return this.attempt(() => withBigInts(statement, () => act(statement, values)));
    }
  }

  private prepare(sql: string, parameters: readonly SqlValue[]): Prepared {
    const statements = this.access === null ? this.kernelStatements : this.statementsOf(this.access);
    let prepared = statements.get(sql);
    if (prepared === undefined) {
      const count = countParameters(sql);
      prepared = { statement: this.attempt(() => this.driver.prepare(sql)), parameters: count };
      if (statements.size >= MAX_STATEMENTS) statements.delete(statements.keys().next().value as string);
      statements.set(sql, prepared);
    }
    checkParameters(sql, prepared.parameters, parameters);
    return prepared;
  }

  private statementsOf(access: Access): Statements {
    let statements = this.guarded.get(access);
    if (statements === undefined) this.guarded.set(access, (statements = new Map()));
    return statements;
  }

  private bound(values: readonly SqlValue[]): readonly SqlValue[] {
    return this.kind.bindsIntegersAsReal ? withExactIntegers(values) : values;
  }

  private attempt<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      throw this.failure(error);
    }
  }

  private failure(error: unknown): Error {
    // The driver's own code for a denial depends on where it occurs.
    return this.refused && this.access !== null
      ? this.access.denied()
      : databaseFailure(error, this.file, { isExtensions: this.access !== null });
  }
}

/** Reads again with BigInts where a value does not fit a number, and converts those that do. */
function withBigInts<T>(statement: DriverStatement, read: () => T): T {
  statement.setReadBigInts(true);
  try {
    return narrowed(read());
  } finally {
    statement.setReadBigInts(false);
  }
}

function narrowed<T>(result: T): T {
  for (const row of (Array.isArray(result) ? result : [result]) as (SqlRow | null)[]) {
    for (const [column, value] of Object.entries(row ?? {})) {
      if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) (row as SqlRow)[column] = Number(value);
    }
  }
  return result;
}
