import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, type Dialect } from 'kysely';

const DIALECTS: Readonly<Record<'sqlite', Dialect>> = {
  sqlite: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(), // the owner of the connection runs the queries
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
};

export function createBuilder<Tables>(dialect: 'sqlite'): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: DIALECTS[dialect] });
}
