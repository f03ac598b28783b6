import { openDatabase, type SqliteDatabase } from './open-database.ts';

/**
 * Whether a database has all that these statements make, and nothing else: numbers in a file's head are easily right, and a view or a
 * trigger of the same name would run whatever somebody wrote into it. Nothing that it holds is evaluated.
 */
export function isMadeOf(database: SqliteDatabase, statements: readonly string[]): boolean {
  const found = objectsOf(database);
  return isMadeVerbatim(found, statements) || isSame(found, objectsMadeBy(statements));
}

type Objects = readonly (readonly [name: string, sql: string])[];

const TABLE = /^CREATE (VIRTUAL )?TABLE (\w+)\W/;
/** What FTS5 makes beside a table; it is plain tables only. */
const SHADOW = /^CREATE TABLE '(\w+)_(?:data|idx|content|docsize|config)'\(/;

/** SQLite keeps statements as they were written, where they were written as it does: then nothing need be made to compare with. */
function isMadeVerbatim(found: Objects, statements: readonly string[]): boolean {
  const virtual = new Set<string>();
  for (const statement of statements) {
    const [, isVirtual, name] = TABLE.exec(statement) ?? [];
    if (name === undefined || !found.some((each) => each[0] === name && each[1] === statement)) return false;
    if (isVirtual !== undefined) virtual.add(name);
  }
  return found.every(([, sql]) => statements.includes(sql) || virtual.has(SHADOW.exec(sql)?.[1] ?? ''));
}

function objectsMadeBy(statements: readonly string[]): Objects {
  const database = openDatabase(':memory:', { settings: '', waits: false });
  try {
    for (const statement of statements) database.exec(statement);
    return objectsOf(database);
  } finally {
    database.close();
  }
}

/** Indexes that come with a table have no statement of their own, nor can they have another. */
function objectsOf(database: SqliteDatabase): Objects {
  const rows = database.all('SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name');
  return rows.map(({ name, sql }) => [String(name), String(sql)]);
}

function isSame(some: Objects, others: Objects): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}
