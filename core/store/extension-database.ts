import { type ExtensionContext, PithError } from '../contract/index.ts';
import { statementCause } from './parameters.ts';
import type { Access } from './open-database.ts';
import type { Store } from './store.ts';
import { partOf } from './transaction-part.ts';

export type Database = ExtensionContext['database'];

// action codes of SQLite's authorizer, https://sqlite.org/c3ref/c_alter_table.html
const ACTION = {
  createIndex: 1,
  createTable: 2,
  createTrigger: 7,
  createView: 8,
  delete: 9,
  dropIndex: 10,
  dropTable: 11,
  dropTrigger: 16,
  dropView: 17,
  insert: 18,
  pragma: 19,
  read: 20,
  select: 21,
  update: 23,
  alterTable: 26,
  reindex: 27,
  analyze: 28,
  createVirtual: 29,
  dropVirtual: 30,
  function: 31,
  recursive: 33,
} as const;

/** The actions of a query. */
const READS = new Set<number>([ACTION.read, ACTION.select, ACTION.function, ACTION.recursive, ACTION.pragma]);
const ON_FIRST = new Set<number>([
  ACTION.createTable,
  ACTION.createView,
  ACTION.delete,
  ACTION.dropTable,
  ACTION.dropView,
  ACTION.insert,
  ACTION.read,
  ACTION.update,
  ACTION.analyze,
  ACTION.createVirtual,
  ACTION.dropVirtual,
]);
const ON_SECOND = new Set<number>([ACTION.createIndex, ACTION.createTrigger, ACTION.dropIndex, ACTION.dropTrigger, ACTION.alterTable]);
/** SQLite's own tables, which it uses for every change of schema; SQLite itself refuses direct writes. */
const SCHEMA_TABLE = /^sqlite_(?:master|schema|sequence|stat\d)$/;
const TABLE_FUNCTIONS = new Set(['json_each', 'json_tree']);
/** Pragmas that only describe tables; full-text tables need `data_version`. */
const PRAGMAS = new Set(['table_info', 'table_xinfo', 'index_list', 'index_info', 'index_xinfo', 'foreign_key_list', 'data_version']);
/** Renaming a table would change its prefix. */
const FUNCTIONS_DENIED = new Set(['load_extension', 'sqlite_rename_table']);

/** Restricts statements to tables that begin with `<extension id>__`, by SQLite's authorizer: even in triggers, views and subqueries. */
export function tableAccess(extensionId: string, mayWrite = true): Access {
  const prefix = `${extensionId}__`; // an id has no double underscore, so no prefix is the start of another
  let last = '';
  return {
    authorize(action, first, second, database) {
      if ((mayWrite || READS.has(action)) && isAllowed(prefix, { action, first, second, database })) return 0;
      last = first === null || first === '' ? (second ?? 'this statement') : ON_SECOND.has(action) ? (second ?? first) : first;
      return 1;
    },
    denied: () =>
      new PithError('not_allowed', `extension '${extensionId}': a statement that touches '${last}' was refused`, {
        where: extensionId,
        cure: mayWrite
          ? `use only tables that begin with '${prefix}', and no pragmas, transactions, temporary or attached tables`
          : `read tables that begin with '${prefix}', and change them by write`,
      }),
  };
}

/** The tables of one extension: names begin with `<id>__`; anything else is `not_allowed`. */
export function createDatabase(store: Store, extensionId: string): Database {
  const access = tableAccess(extensionId);
  const reading = tableAccess(extensionId, false);
  return {
    dialect: 'sqlite',
    all: async (...query) => store.within(reading, () => store.all(...query)),
    get: async (...query) => store.within(reading, () => store.get(...query)),
    async write(statements) {
      refuseOddStatements(extensionId, statements);
      let changes: number[] = [];
      await store.write((run) => {
        changes = statements.map((given, index) => {
          const part = partOf(given);
          if (part) return part(run);
          const { sql, values = [], changes: wanted } = given as SqlStatement;
          const before = totalChanges(store);
          const { changes: last } = store.within(access, () => run(sql, ...values));
          const made = totalChanges(store) === before ? 0 : last; // a statement that changes no rows leaves the count of the one before it
          if (wanted !== undefined && made !== wanted)
            throw conflict(extensionId, `statement ${index + 1} changed ${made} rows, not ${wanted}`, sql);
          return made;
        });
      });
      return changes;
    },
  };
}

/** More would block the event loop too long. */
const MOST_STATEMENTS = 10_000;
/** These reach beyond one extension's tables, and SQLite does not ask the authorizer about them. */
const FAR_REACHING: readonly (readonly [RegExp, string])[] = [
  [/\bor\s+rollback\b|\bon\s+conflict\s+rollback\b|\braise\s*\(\s*rollback\b/iu, 'it would undo what others write in the same transaction'],
  [/\bsqlite_(?:sequence|stat\d)\b/iu, 'sqlite_sequence and sqlite_stat have rows of every extension'],
];

/** Text in quotes is kept. Values belong into `?`: an SQL word within a text counts as SQL. */
const COMMENT_OR_QUOTED = /('(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])|--[^\n]*|\/\*[^]*?(?:\*\/|$)/gu;

type GivenStatement = Parameters<Database['write']>[0][number];
type SqlStatement = Extract<GivenStatement, { sql: string }>;

function refuseOddStatements(extensionId: string, statements: readonly GivenStatement[]): void {
  const refuse = (code: 'parameter_invalid' | 'not_allowed', why: string, sql?: unknown): never => {
    throw new PithError(code, `extension '${extensionId}': nothing was written, because ${why}`, {
      where: extensionId,
      ...(typeof sql === 'string' ? { cause: statementCause(sql) } : {}),
      cure: 'see: docs/write-an-extension.md',
    });
  };
  if (!Array.isArray(statements)) refuse('parameter_invalid', 'write takes a list of statements');
  if (statements.length > MOST_STATEMENTS)
    refuse('parameter_invalid', `one write has at most ${MOST_STATEMENTS} statements, not ${statements.length}`);
  for (const [index, statement] of statements.entries()) {
    if (partOf(statement)) continue;
    const named = `statement ${index + 1}`;
    const { sql, values = [], changes } = (statement ?? {}) as SqlStatement;
    if (typeof sql !== 'string' || !Array.isArray(values)) refuse('parameter_invalid', `${named} is not { sql, values?, changes? }`);
    if (changes !== undefined && !(Number.isSafeInteger(changes) && changes >= 0))
      refuse('parameter_invalid', `'changes' of ${named} must be a whole number of rows`, sql);
    const plain = sql.replace(COMMENT_OR_QUOTED, (_, quoted?: string) => quoted ?? ' ');
    for (const [pattern, why] of FAR_REACHING) if (pattern.test(plain)) refuse('not_allowed', `of ${named}: ${why}`, sql);
    for (const [, table = ''] of plain.matchAll(/\breferences(?:\s+|(?=["'`[]))["'`[]?(\w+)/giu))
      if (!table.toLowerCase().startsWith(`${extensionId}__`))
        refuse('not_allowed', `table '${table}', which ${named} refers to, belongs to something else`, sql);
  }
}

function totalChanges(store: Store): unknown {
  return store.get('SELECT total_changes() AS n')?.['n'];
}

function conflict(extensionId: string, why: string, sql: string): PithError {
  return new PithError('write_conflict', `extension '${extensionId}': nothing was written, because ${why}`, {
    where: extensionId,
    cause: statementCause(sql),
    retryable: true,
    cure: 'read the rows again, then write',
  });
}

type Asked = { readonly action: number } & Readonly<Record<'first' | 'second' | 'database', string | null>>;

/** What is asked is named as SQLite's authorizer names it. */
function isAllowed(prefix: string, { action, first, second, database }: Asked): boolean {
  if (action === ACTION.select || action === ACTION.recursive) return true;
  if (action === ACTION.function) return !FUNCTIONS_DENIED.has((second ?? '').toLowerCase());
  if (action === ACTION.pragma) return PRAGMAS.has((first ?? '').toLowerCase());
  if (action === ACTION.reindex) return isOwn(prefix, first);
  if (action === ACTION.alterTable) return first === 'main' && isOwn(prefix, second);
  if (database !== null && database !== 'main') return false;
  if (ON_SECOND.has(action)) return isOwn(prefix, second) && (isOwn(prefix, first) || (first ?? '').startsWith('sqlite_autoindex_'));
  if (!ON_FIRST.has(action)) return false;
  // A table that is named without any column: SQLite reports `WITH` names and tables alike here. At most a number of rows leaks.
  if (action === ACTION.read && second === '' && database === null) return true;
  if (action === ACTION.read && TABLE_FUNCTIONS.has((first ?? '').toLowerCase())) return true;
  return isOwn(prefix, first) || isSchemaTable(action, first);
}

function isOwn(prefix: string, name: string | null): boolean {
  return name !== null && name.toLowerCase().startsWith(prefix);
}

function isSchemaTable(action: number, name: string | null): boolean {
  return name !== null && SCHEMA_TABLE.test(name) && action !== ACTION.dropTable && action !== ACTION.analyze;
}
