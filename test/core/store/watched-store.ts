import type { SqlValue, Statement, Store } from '../../../core/store/index.ts';

export interface Query {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** How many rows it gave or wrote. */
  readonly rows: number;
}

/** The store, and what it is asked. */
export function watched(store: Store): { readonly store: Store; readonly queries: Query[] } {
  const queries: Query[] = [];
  const keep = <T>(result: T, rows: number, [sql, ...values]: [string, ...SqlValue[]]): T => {
    queries.push({ sql, values, rows });
    return result;
  };
  const statementOf = (statement: Statement): Statement =>
    Object.assign((...given: [string, ...SqlValue[]]) => keep(statement(...given), 1, given), { onCommit: statement.onCommit });
  const all: Store['all'] = (...given) => {
    const rows = store.all(...given);
    return keep(rows, rows.length, given);
  };
  const get: Store['get'] = (...given) => keep(store.get(...given), 1, given);
  return { queries, store: { ...store, all, get, write: (run) => store.write((statement) => run(statementOf(statement))) } };
}

/** How SQLite answers them. */
export function plansOf(store: Store, queries: readonly Query[]): readonly string[] {
  return queries.flatMap(({ sql, values }) => store.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail)));
}
