import type { Database } from '../contract/index.ts';
import type { Store } from './store.ts';
import { tableAccess } from './table-access.ts';

/** The tables of one extension: names begin with `<id>__`; anything else is `not_allowed`. */
export function createDatabase(store: Store, extensionId: string): Database {
  const access = tableAccess(extensionId);
  return {
    all: (sql, ...parameters) => store.within(access, () => store.all(sql, ...parameters)),
    get: (sql, ...parameters) => store.within(access, () => store.get(sql, ...parameters)),
    write: (run) => store.write((statement) => run((sql, ...parameters) => store.within(access, () => statement(sql, ...parameters)))),
  };
}
