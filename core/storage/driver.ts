import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pithPackage } from '../contract/shipped-sandbox.ts';

/** What `DatabaseSync` of `node:sqlite` offers and the store uses. */
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

/** SQLite's authorizer: asked for each access while a statement is compiled. 0 allows, 1 denies. */
export type Authorize = (
  action: number,
  first: string | null,
  second: string | null,
  database: string | null,
  trigger: string | null,
) => number;

export interface Driver {
  readonly open: (file: string, timeoutMs: number) => DriverDatabase;
  /** The built-in binds every JavaScript number as REAL; integers must be given as BigInt to be stored as integers. */
  readonly bindsIntegersAsReal: boolean;
}

type DatabaseSync = new (file: string, options: { readonly timeout: number }) => DriverDatabase;

let driver: Driver | undefined;

/** The built-in where it is stable and has an authorizer (Node 24), else the package with the same API. Loaded on first use. */
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
  const { DatabaseSync } = (shippedBinary(require) ?? require('@photostructure/sqlite')) as { DatabaseSync: DatabaseSync };
  return driverOf(DatabaseSync, false);
}

/**
 * The binary that the package ships for this machine, as it lies beside Pith: the package itself finds it with milliseconds of looking.
 * Undefined where it does not fit (musl), was compiled here, or lies elsewhere: then the package looks.
 */
function shippedBinary(require: NodeJS.Require): unknown {
  const folder = path.join(pithPackage().root, 'node_modules', '@photostructure', 'sqlite');
  const file = path.join(folder, 'prebuilds', `${process.platform}-${process.arch}`, '@photostructure+sqlite.glibc.node');
  if (!existsSync(file) || existsSync(path.join(folder, 'build'))) return undefined;
  try {
    return require(file);
  } catch {
    return undefined; // for another C library: the package knows which file is for this one
  }
}

function driverOf(DatabaseSync: DatabaseSync, bindsIntegersAsReal: boolean): Driver {
  return { open: (file, timeout) => new DatabaseSync(file, { timeout }), bindsIntegersAsReal };
}
