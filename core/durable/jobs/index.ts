export { type HandlerEnd, infoOf, type JobCall } from './calls.ts';
export { createJobs, type Jobs } from './jobs.ts';
export type { HoldKind, JobFilter, JobStore } from './port.ts';
export { hasEnded, type JobRow, type State, STATES } from './row.ts';
export { createJobService, type JobService, type JobServiceOptions } from './service.ts';
export { createJobStore, guardIn, insertIn } from './store.ts';
export { createSqliteTables } from './sqlite-rows.ts';
export { nextTick } from './timetables.ts';
