import { createRequire } from 'node:module';

/** The part of `DatabaseSync` of `node:sqlite` that the store uses. */
export interface DriverDatabase {
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): DriverStatement;
  close(): void;
  setAuthorizer(authorize: Authorize | null): void;
}

export interface DriverStatement {
  run(...parameters: unknown[]): { readonly changes: number | bigint };
  get(...parameters: unknown[]): unknown;
  all(...parameters: unknown[]): unknown[];
  setReadBigInts(enabled: boolean): void;
}

/** SQLite's authorizer: called for each access while a statement is compiled. 0 allows, 1 denies. */
export type Authorize = (action: number, first: string | null, second: string | null, database: string | null) => number;

export interface Driver {
  readonly open: (file: string, timeoutMs: number) => DriverDatabase;
  /** The built-in driver binds every JavaScript number as REAL, so integers must be given as BigInt. */
  readonly bindsIntegersAsReal: boolean;
}

type DatabaseSync = new (file: string, options: { readonly timeout: number }) => DriverDatabase;

let driver: Driver | undefined;

/** The built-in driver where it is stable and has an authorizer (Node 24), else the package with the same API. Loaded on first use. */
export function loadDriver(): Driver {
  return (driver ??= fromBuiltIn() ?? fromPackage());
}

function fromBuiltIn(): Driver | undefined {
  if (Number.parseInt(process.versions.node, 10) < 24) return undefined;
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite') as unknown as { DatabaseSync: DatabaseSync };
  return 'setAuthorizer' in DatabaseSync.prototype ? driverOf(DatabaseSync, true) : undefined;
}

function fromPackage(): Driver {
  const require = createRequire(import.meta.url);
  const { DatabaseSync } = require('@photostructure/sqlite') as { DatabaseSync: DatabaseSync };
  return driverOf(DatabaseSync, false);
}

function driverOf(DatabaseSync: DatabaseSync, bindsIntegersAsReal: boolean): Driver {
  return { open: (file, timeout) => new DatabaseSync(file, { timeout }), bindsIntegersAsReal };
}
