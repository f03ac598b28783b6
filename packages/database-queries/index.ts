export { migrate, migrated, type Migration } from './migrations.ts';
export { exactly, Queries, type SqlDatabase, type Write } from './queries.ts';
