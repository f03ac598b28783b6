export { type HandlerEnd, infoOf, type JobCall } from './calls.ts';
export { createJobService, type JobService, type JobServiceOptions } from './service.ts';
export { createJobStore, guardIn, insertIn } from './store.ts';
export { createSqliteTables } from './sqlite-rows.ts';
export { nextTick } from './timetables.ts';
