import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Cache, CacheLayout } from '../contract/extension.ts';
import { messageOf, PithError } from '../contract/errors.ts';
import type { Clock, Logger, SqlValue } from '../contract/index.ts';
import { stateFolder } from '../contract/state-files.ts';
import { isBusy, isDamaged } from './failure.ts';
import { openDatabase, type SqliteDatabase } from './open-database.ts';

export interface CacheFileOptions {
  readonly file: string;
  readonly layout: CacheLayout;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Write = Parameters<Cache['write']>[0];

/** 'pith' as SQLite's header has it. */
const APPLICATION = 0x70697468;
const RETRY = { attempts: 50, everyMs: 20 } as const;

/**
 * Opens or makes a cache. One that is broken, of another layout or of other programs is removed and made anew, with a line that says so.
 * Rejects `database_failed` where there can be none: a folder that cannot be written, a lock that somebody keeps, no SQLite.
 */
export async function openCacheFile(options: CacheFileOptions): Promise<Cache> {
  const { file, clock, logger } = options;
  let found: unknown = 'others make it anew all the time';
  for (let attempt = 1; attempt <= RETRY.attempts; attempt++) {
    try {
      const opened = attemptToOpen(options);
      if (opened instanceof CacheFile) return opened;
      if (opened.identity !== identityOf(file)) continue; // another process has made it anew meanwhile
      logger.warn(`the cache ${file} is of no use and is made anew: ${opened.useless}`);
      rmSync(file, { force: true }); // SQLite itself drops a journal that has no file
    } catch (error) {
      if (!isBusy(error)) throw failure(file, error);
      found = error;
      await clock.sleep(RETRY.everyMs);
    }
  }
  throw failure(file, found);
}

interface Useless {
  readonly useless: string;
  /** Of the file that was looked at. */
  readonly identity: string;
}

function attemptToOpen({ file, layout }: CacheFileOptions): CacheFile | Useless {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
    return { useless: 'it is a link, and what that leads to is not ours', identity: identityOf(file) };
  stateFolder(path.dirname(file)).database(path.basename(file));
  const identity = identityOf(file);
  const boot = bootId();
  let database: SqliteDatabase | undefined;
  try {
    // A rollback journal: with a log and its index beside it, a file that somebody deletes could meet the log of another.
    database = openDatabase(file, { settings: `PRAGMA synchronous = ${boot === '' ? 'NORMAL' : 'OFF'}`, waits: false });
    const useless = prepare(database, layout, boot) ?? (identity === identityOf(file) ? null : 'another process made it anew');
    if (useless === null) return new CacheFile(file, identity, database);
    database.close();
    return { useless, identity };
  } catch (error) {
    database?.close();
    if (isDamaged(error)) return { useless: reasonOf(error), identity };
    throw error;
  }
}

/** Makes the tables where there are none. Why the file is of no use, or null. */
function prepare(database: SqliteDatabase, { version, schema }: CacheLayout, boot: string): string | null {
  const wanted = layoutNumber(version, schema, boot);
  if (numberOf(database, 'application_id') === 0 && database.get('SELECT 1 FROM sqlite_schema LIMIT 1') === null) {
    inTransaction(database, () => {
      if (numberOf(database, 'application_id') !== 0) return; // another process was faster
      for (const statement of schema) database.exec(statement);
      database.exec(`PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${wanted}`);
    });
  }
  if (numberOf(database, 'application_id') !== APPLICATION) return 'it is not a cache of Pith';
  return numberOf(database, 'user_version') === wanted && isMadeBy(database, schema)
    ? null
    : 'it has another format, or the machine was started since';
}

/**
 * Whether a database has all that these statements make, and nothing else: numbers in a file's head are easily right, and a view or a
 * trigger of the same name would run whatever somebody wrote into it. Nothing that it holds is evaluated.
 */
function isMadeBy(database: SqliteDatabase, schema: readonly string[]): boolean {
  const model = openDatabase(':memory:', { settings: '', waits: false });
  try {
    for (const statement of schema) model.exec(statement);
    return objectsOf(database) === objectsOf(model);
  } finally {
    model.close();
  }
}

/** Indexes that come with a table have no statement of their own, nor can they have another. */
function objectsOf(database: SqliteDatabase): string {
  return JSON.stringify(database.all('SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name'));
}

class CacheFile implements Cache {
  readonly #database: SqliteDatabase;
  readonly #identity: string;
  #isUseless = false;
  #closed = false;

  constructor(
    readonly file: string,
    identity: string,
    database: SqliteDatabase,
  ) {
    this.#identity = identity;
    this.#database = database;
  }

  all(sql: string, ...parameters: SqlValue[]) {
    return this.#attempt(() => this.#database.all(sql, ...parameters));
  }

  get(sql: string, ...parameters: SqlValue[]) {
    return this.#attempt(() => this.#database.get(sql, ...parameters));
  }

  async write(run: Write): Promise<boolean> {
    if (this.#closed) return false;
    return this.#attempt(() => {
      try {
        if (identityOf(this.file) !== this.#identity) throw new Error('it was removed while it was in use');
        inTransaction(this.#database, () => run((sql, ...parameters) => ({ changes: this.#database.run(sql, ...parameters).changes })));
        return true;
      } catch (error) {
        if (isBusy(error)) return false;
        throw error;
      }
    });
  }

  spoil(): void {
    this.#isUseless = true;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    ignoreFailure(() => this.#database.close());
    ignoreFailure(() => this.#isUseless && identityOf(this.file) === this.#identity && rmSync(this.file, { force: true }));
  }

  #attempt<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      this.#isUseless ||= isDamaged(error);
      throw failure(this.file, error);
    }
  }
}

/** What fails here harms nobody: the next one that opens the file finds what is wrong with it. */
function ignoreFailure(release: () => unknown): void {
  try {
    release();
  } catch {
    // a disk that fails, a folder that may not be written any more
  }
}

function inTransaction(database: SqliteDatabase, act: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    act();
    database.exec('COMMIT');
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function numberOf(database: SqliteDatabase, pragma: 'application_id' | 'user_version'): number {
  return Number(database.get(`PRAGMA ${pragma}`)?.[pragma]);
}

/** What is written without waiting for the disk may be torn when the machine goes down, so that a file lasts no longer than one run of it. */
function layoutNumber(version: number, schema: readonly string[], boot: string): number {
  const digest = createHash('sha256').update(JSON.stringify([version, ...schema, boot]));
  return digest.digest().readUInt32BE(0) >>> 1;
}

/** Names this run of the machine; empty where the system does not tell, and then every write waits for the disk. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return ''; // not Linux
  }
}

function identityOf(file: string): string {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev} ${found.ino}`;
}

function reasonOf(error: unknown): string {
  return messageOf(error instanceof PithError && error.cause !== undefined ? error.cause : error);
}

function failure(file: string, error: unknown): PithError {
  if (error instanceof PithError && error.code === 'parameter_invalid') return error;
  return new PithError('database_failed', `cache ${file}: ${reasonOf(error)}`, { cause: error, where: file, retryable: isBusy(error) });
}
