/** Runs of saved skills: queued in lanes, executed by any process, delivered. */
export { DEFAULT_LANE, DEFAULT_RULES } from './lanes.ts';
export { hasEnded, NO_ORIGIN, RUN_STATES, runOfThread, threadOf, type Run, type RunCause, type RunOrigin, type RunState } from './run.ts';
export { RunSeal } from './run-seal.ts';
export { RunStore, type LaneRules, type NewRun } from './run-store.ts';
export { channelFor, channelsOf, kindOf } from './channels.ts';
export { deliverDue, isDelivered, partsOf } from './deliveries.ts';
export { DueSchedules } from './due-schedules.ts';
export { Runner } from './runner.ts';
