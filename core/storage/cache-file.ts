import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fsync, lstatSync, openSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Cache, CacheLayout } from '../contract/cache.ts';
import { messageOf, PithError } from '../contract/errors.ts';
import type { Clock, Logger, SqlValue } from '../contract/index.ts';
import { stateFolder } from '../contract/state-files.ts';
import { isBusy, isDamaged } from './failure.ts';
import { isMadeOf } from './made-of.ts';
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
const PATIENCE = { attempts: 50, everyMs: 20 } as const;
/** Who writes, and since which start of the machine: what they wrote is on disk when they take themselves off. */
const WRITERS = 'CREATE TABLE pith_writers (id TEXT PRIMARY KEY, boot TEXT NOT NULL) WITHOUT ROWID';

/**
 * Opens or makes a cache. One that is broken, of another layout or of other programs is removed and made anew, with a line that says so.
 * Rejects `database_failed` where there can be none: a folder that cannot be written, a lock that somebody keeps, no SQLite.
 */
export async function openCacheFile(options: CacheFileOptions): Promise<Cache> {
  const { file, clock, logger } = options;
  let found: unknown = 'others make it anew all the time';
  for (let attempt = 1; attempt <= PATIENCE.attempts; attempt++) {
    try {
      const opened = attemptToOpen(options);
      if (opened instanceof CacheFile) return opened;
      if (opened.identity !== identityOf(file)) continue; // another process has made it anew meanwhile
      logger.warn(`the cache ${file} is of no use and is made anew: ${opened.useless}`);
      rmSync(file, { force: true }); // SQLite itself drops a journal that has no file
    } catch (error) {
      if (!isBusy(error)) throw failure(file, error);
      found = error;
      await clock.sleep(PATIENCE.everyMs);
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
    database = openDatabase(file, { settings: `PRAGMA synchronous = ${boot === null ? 'NORMAL' : 'OFF'}`, waits: false });
    const useless = prepare(database, layout, boot) ?? (identity === identityOf(file) ? null : 'another process made it anew');
    if (useless === null) return new CacheFile(file, identity, database, boot ?? '');
    database.close();
    return { useless, identity };
  } catch (error) {
    database?.close();
    if (isDamaged(error)) return { useless: reasonOf(error), identity };
    throw error;
  }
}

/** Makes the tables where there are none. Why the file is of no use, or null. */
function prepare(database: SqliteDatabase, { version, schema }: CacheLayout, boot: string | null): string | null {
  const wanted = layoutNumber(version, schema);
  if (numberOf(database, 'application_id') === 0 && database.get('SELECT 1 FROM sqlite_schema LIMIT 1') === null) {
    inTransaction(database, () => {
      if (numberOf(database, 'application_id') !== 0) return; // another process was faster
      for (const statement of [WRITERS, ...schema]) database.exec(statement);
      database.exec(`PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${wanted}`);
    });
  }
  if (numberOf(database, 'application_id') !== APPLICATION) return 'it is not a cache of Pith';
  if (numberOf(database, 'user_version') !== wanted || !isMadeOf(database, [WRITERS, ...schema])) return 'it has another format';
  const lost = boot === null ? null : database.get('SELECT 1 FROM pith_writers WHERE boot <> ?', boot);
  return lost === null ? null : 'the machine went down while it was being written';
}

class CacheFile implements Cache {
  readonly #database: SqliteDatabase;
  readonly #identity: string;
  readonly #boot: string;
  readonly #writer = randomUUID();
  /** Of the same file. It stays open to the end: closing one releases SQLite's locks on the file. */
  #descriptor: number | null = null;
  #marking: Promise<boolean> | null = null;
  #spoilt = false;
  #closing: Promise<void> | null = null;

  constructor(
    readonly file: string,
    identity: string,
    database: SqliteDatabase,
    boot: string,
  ) {
    this.#identity = identity;
    this.#database = database;
    this.#boot = boot;
  }

  all(sql: string, ...parameters: SqlValue[]) {
    return this.#attempt(() => this.#database.all(sql, ...parameters));
  }

  get(sql: string, ...parameters: SqlValue[]) {
    return this.#attempt(() => this.#database.get(sql, ...parameters));
  }

  async write(run: Write): Promise<boolean> {
    return this.#closing === null && (await this.#mark()) && this.#closing === null && this.#commit(run);
  }

  spoil(): void {
    this.#spoilt = true;
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  /** Before the first write: if the machine goes down after it, the file says that it may be torn. */
  async #mark(): Promise<boolean> {
    this.#marking ??= this.#writeMark();
    let marked = false;
    try {
      return (marked = await this.#marking);
    } catch (error) {
      throw error instanceof PithError ? error : this.#failed(error);
    } finally {
      if (!marked) this.#marking = null;
    }
  }

  async #writeMark(): Promise<boolean> {
    if (this.#boot === '') return true;
    this.#descriptor ??= openSync(this.file, 'r');
    if (!this.#commit((statement) => statement('INSERT OR IGNORE INTO pith_writers VALUES (?, ?)', this.#writer, this.#boot))) return false;
    await synced(this.#descriptor);
    return true;
  }

  #commit(run: Write): boolean {
    try {
      if (identityOf(this.file) !== this.#identity) throw new Error('it was removed while it was in use');
      inTransaction(this.#database, () => run((sql, ...parameters) => ({ changes: this.#database.run(sql, ...parameters).changes })));
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw this.#failed(error);
    }
  }

  #attempt<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #failed(error: unknown): Error {
    this.#spoilt ||= isDamaged(error);
    return failure(this.file, error);
  }

  async #close(): Promise<void> {
    try {
      if (this.#descriptor !== null && !this.#spoilt && (await this.#marking)) {
        await synced(this.#descriptor);
        this.#commit((statement) => statement('DELETE FROM pith_writers WHERE id = ?', this.#writer));
      }
    } catch {
      // The mark stays: if the machine goes down, the next one makes it anew.
    }
    whatever(() => this.#database.close());
    whatever(() => this.#descriptor !== null && closeSync(this.#descriptor));
    this.#descriptor = null;
    whatever(() => this.#spoilt && identityOf(this.file) === this.#identity && rmSync(this.file, { force: true }));
  }
}

const synced = promisify(fsync);

/** What fails here harms nobody: the next one that opens the file finds what is wrong with it. */
function whatever(release: () => unknown): void {
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

function layoutNumber(version: number, schema: readonly string[]): number {
  const digest = createHash('sha256').update(JSON.stringify([version, ...schema]));
  return digest.digest().readUInt32BE(0) >>> 1;
}

function identityOf(file: string): string {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev} ${found.ino}`;
}

/** Names this run of the machine; null where the system does not tell, and then every write waits for the disk. */
function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null; // not Linux
  }
}

function reasonOf(error: unknown): string {
  return messageOf(error instanceof PithError && error.cause !== undefined ? error.cause : error);
}

function failure(file: string, error: unknown): PithError {
  if (error instanceof PithError && error.code === 'parameter_invalid') return error;
  return new PithError('database_failed', `cache ${file}: ${reasonOf(error)}`, { cause: error, where: file, retryable: isBusy(error) });
}
