export { createJobStore, guardIn, insertIn } from './store.ts';
export { createSqliteTables } from './sqlite-rows.ts';
