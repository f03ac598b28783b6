/** Skills and versions as they are kept, and the tables of the whole extension. */
export { snapshotOf, SkillStore, type FoundSkill, type SkillVersion, type Snapshot, type StoredSkill } from './skill-store.ts';
export { columnsOf, cureOf, skillOf } from './skill-row.ts';
export { MIGRATIONS, type RunRow, type Tables } from './tables.ts';
