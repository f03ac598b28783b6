import type { Compilable, Kysely } from 'kysely';
import type { Queries, Write } from './queries.ts';

// Each step is written for the tables that there were then.
// oxlint-disable-next-line typescript/no-explicit-any
type Anything = any;

/** One step of a schema; its place in the list is its number, and never changes once it has been released. */
export type Migration = (db: Kysely<Anything>) => readonly Compilable<unknown>[];

/** Brings the tables `<prefix>__…` to the newest schema, each step whole, also where several processes begin at once. */
export async function migrate(queries: Queries<Anything>, prefix: string, migrations: readonly Migration[]): Promise<void> {
  const table = `${prefix}__migrations`;
  await queries.write((db) => [
    db.schema
      .createTable(table)
      .ifNotExists()
      .addColumn('step', 'integer', (column) => column.primaryKey()),
  ]);
  const last = async (): Promise<number> => {
    const row = await queries.first((db) => db.selectFrom(table).select(({ fn }) => fn.max('step').as('step')));
    return Number(row?.['step'] ?? 0);
  };
  for (let done = await last(); done < migrations.length; done = await last()) {
    const step = done + 1;
    const make = migrations[done] as Migration;
    // The row comes first: whoever is second fails there, and finds that the step has been taken.
    const writes = (db: Kysely<Anything>): readonly Write[] => [db.insertInto(table).values({ step }), ...make(db)];
    try {
      await queries.write(writes);
    } catch (error) {
      if ((await last()) < step) throw error;
    }
  }
}
