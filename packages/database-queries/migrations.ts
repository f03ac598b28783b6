import { oncePromised } from '@pith/promises';
import { Queries, type SqlDatabase } from './queries.ts';

// Whatever tables an extension has.
// oxlint-disable-next-line typescript/no-explicit-any
type Anything = any;

/** A step of a schema: its SQL statements. Its position in the list is its number and never changes once released. */
export type Migration = readonly string[];

/** The database, whose tables `<prefix>__…` are brought to the newest schema before they are first used. */
export function migrated(database: SqlDatabase, prefix: string, migrations: readonly Migration[]): SqlDatabase {
  const ready = oncePromised(() => migrate(new Queries(database), prefix, migrations));
  return {
    dialect: database.dialect,
    all: async (...query) => {
      await ready();
      return database.all(...query);
    },
    write: async (statements) => {
      await ready();
      return database.write(statements);
    },
  };
}

/** Migrates the tables `<prefix>__…` to the newest schema, each step in one transaction. Several processes may start it at once. */
export async function migrate(queries: Queries<Anything>, prefix: string, migrations: readonly Migration[]): Promise<void> {
  const table = `${prefix}__migrations`;
  await queries.write(() => [{ sql: `CREATE TABLE IF NOT EXISTS ${table} (step integer PRIMARY KEY)` }]);
  const last = async (): Promise<number> => {
    const row = await queries.first((db) => db.selectFrom(table).select(({ fn }) => fn.max('step').as('step')));
    return Number(row?.['step'] ?? 0);
  };
  const first = await last();
  if (first > migrations.length)
    throw new Error(
      `the tables ${prefix}__… have version ${first}, and ${migrations.length} is known; use the newer program that wrote them`,
    );
  for (let done = first; done < migrations.length; done = await last()) {
    const step = done + 1;
    const statements = (migrations[done] as Migration).map((sql) => ({ sql }));
    try {
      await queries.write((db) => [db.insertInto(table).values({ step }), ...statements]); // the row first: a second process fails there
    } catch (error) {
      if ((await last()) < step) throw error;
    }
  }
}
