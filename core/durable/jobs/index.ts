export { type HandlerEnd, infoOf, type JobCall } from './calls.ts';
export { createJobs, type Jobs } from './jobs.ts';
export type { Attempt, Claim, Hold, HoldKind, JobDeclaration, JobFilter, JobStore, LanePolicy, Outcome } from './port.ts';
export { hasEnded, type JobRow, NEVER, type NewJob, type State, STATES } from './row.ts';
export type { JobRows, JobTables } from './rows.ts';
export { createJobService, type JobService, type JobServiceOptions } from './service.ts';
export { createJobStore, guardIn, insertIn } from './store.ts';
export { createSqliteTables } from './sqlite-rows.ts';
export { nextTick } from './timetables.ts';
