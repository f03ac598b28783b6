export { checkDatabase } from './database-check.ts';
export { createDatabase } from './extension-database.ts';
export { createKeyValue } from './key-value.ts';
export { createLeases, createOwner, type Fence, isHeldInWrite, type Lease, type Leases, sqliteLeaseRows } from './leases.ts';
export { openStore, type Store } from './store.ts';
export type { Statement } from './writer.ts';
export { databaseFailure, isBusy } from './failure.ts';
export { openDatabase } from './open-database.ts';
export { type SqlRow, type SqlValue } from './parameters.ts';
