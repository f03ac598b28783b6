import type { Compilable, Kysely } from 'kysely';

export type SqlValue = null | number | bigint | string | Uint8Array;

interface Statement {
  readonly sql: string;
  readonly values?: readonly SqlValue[];
  readonly changes?: number;
}

/** Runs queries. `write` uses one transaction, and rejects `write_conflict` where a statement changed a wrong number of rows. */
export interface SqlDatabase {
  readonly dialect: 'sqlite';
  all(sql: string, ...parameters: SqlValue[]): Promise<Record<string, SqlValue>[]>;
  write(statements: readonly (Statement | Opaque)[]): Promise<readonly number[]>;
}

/** A part of a write that is no SQL, and that its database knows. */
interface Opaque {
  readonly job: string;
}

/** A statement of a write, or its SQL; with `changes` it must change exactly that many rows. */
export type Write = Compilable<unknown> | { readonly query: Compilable<unknown>; readonly changes: number } | Statement | Opaque;

/** A statement that must change exactly that many rows, or the whole write is rolled back. */
export function exactly(changes: number, query: Compilable<unknown>): Write {
  return { query, changes };
}

/** Queries on the tables `Tables`, in the dialect of their database. */
export class Queries<Tables> {
  #builder: Promise<Kysely<Tables>> | undefined;

  constructor(private readonly database: SqlDatabase) {}

  async all<Row>(build: (db: Kysely<Tables>) => Compilable<Row>): Promise<readonly Row[]> {
    const { sql, parameters } = build(await this.builder()).compile();
    return (await this.database.all(sql, ...parameters.map(valueOf))) as unknown as readonly Row[];
  }

  /** The first row; null when there is none. */
  async first<Row>(build: (db: Kysely<Tables>) => Compilable<Row>): Promise<Row | null> {
    return (await this.all(build))[0] ?? null;
  }

  /** Writes everything in one transaction. Resolves, once it is durable, the number of rows that each statement changed. */
  async write(build: (db: Kysely<Tables>) => readonly Write[]): Promise<readonly number[]> {
    const statements = build(await this.builder()).map(statementOf);
    return statements.length === 0 ? [] : this.database.write(statements);
  }

  builder(): Promise<Kysely<Tables>> {
    return (this.#builder ??= import('./builder.ts').then(({ createBuilder }) => createBuilder<Tables>(this.database.dialect)));
  }
}

function statementOf(write: Write): Statement | Opaque {
  if ('sql' in write || 'job' in write) return write;
  const { query, changes } = 'query' in write ? write : { query: write, changes: undefined };
  const { sql, parameters } = query.compile();
  return { sql, values: parameters.map(valueOf), ...(changes === undefined ? {} : { changes }) };
}

function valueOf(value: unknown): SqlValue {
  return typeof value === 'boolean' ? Number(value) : (value as SqlValue);
}
