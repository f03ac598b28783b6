import type { SqlRow, SqlValue } from './extension.ts';

/** What a cache holds. A file of another version or other statements is made anew. */
export interface CacheLayout {
  /** Raise it whenever what stands in the tables means something else. */
  readonly version: number;
  /** Statements that make the tables of an empty file. */
  readonly schema: readonly string[];
}

/**
 * A SQLite file of one extension, for what can be made again: several processes may use it, and anybody may delete it at any time. Calls
 * never wait for another process. After `database_failed` close it, and open it again when it is next needed.
 */
export interface Cache {
  /** Absolute. */
  readonly file: string;
  /** Rows of a query. Positional parameters, as many as the statement has. */
  all(sql: string, ...parameters: SqlValue[]): SqlRow[];
  /** The first row, or null. */
  get(sql: string, ...parameters: SqlValue[]): SqlRow | null;
  /** Runs statements in one transaction, which may be lost with the machine's power. False where another process is writing: try again later. */
  write(run: (statement: (sql: string, ...parameters: SqlValue[]) => { readonly changes: number }) => void): Promise<boolean>;
  /** Says that what it holds makes no sense: it is removed when it is closed. */
  spoil(): void;
  /** Never rejects. */
  close(): Promise<void>;
}
