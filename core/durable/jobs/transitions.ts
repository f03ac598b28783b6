import type { Wait } from '../../kernel/index.ts';
import type { JobDeclaration, Outcome } from './port.ts';
import { hasEnded, type JobRow, NEVER, type NewJob, type Resumed } from './row.ts';

/** Short, so that after `kill -9` a job goes on soon. */
export const LEASE_MS = 3_000;
/** How long a job may hold its slot after it was asked to end. */
export const GRACE_MS = 5_000;
/** A job is dead after this many losses of its process in a row. */
export const MOST_LOSSES = 3;
/** From this many losses on it runs alone of its name. */
export const ALONE_FROM = 2;

const FIRST_MS = 1_000;
/** A handler that asks for a time that is over is not called in a circle. */
const SOONEST_MS = 1_000;
/** The longest wait between attempts. */
export const LONGEST_RETRY_MS = 300_000;
/** A provider that asks for a longer wait is asked again all the same. */
export const LONGEST_LIMIT_MS = 86_400_000;

export const DEFAULT_BACKOFF: JobDeclaration['backoff'] = { first_ms: FIRST_MS, most_ms: LONGEST_RETRY_MS };

/** The wait after the `failures`-th failure: doubled each time, ± a tenth. `random` is from 0 to 1. */
export function retryDelay(failures: number, random: number, { first_ms, most_ms } = DEFAULT_BACKOFF): number {
  const wait = Math.min(most_ms, first_ms * 2 ** (failures - 1));
  return Math.min(most_ms, Math.round(wait * (0.9 + 0.2 * random)));
}

export function created({ at, ...job }: Omit<NewJob, 'onOpen'>, number: number, now: number): JobRow {
  const due = at ?? now;
  return {
    ...job,
    number,
    changed: number,
    state: due > now ? 'scheduled' : 'waiting',
    at: due,
    late: false,
    attempts: 0,
    lost: 0,
    fence: 0,
    holder: null,
    until: null,
    leaving: false,
    stop: null,
    promise: null,
    wait: null,
    resumed: null,
    early: null,
    result: null,
    error: null,
    made: now,
    begun: null,
    attemptBegun: null,
    ended: null,
    seen: false,
    ready: false,
  };
}

export function claimed(row: JobRow, holder: string, now: number): JobRow {
  return {
    ...row,
    state: 'running',
    fence: row.fence + 1,
    holder,
    until: now + LEASE_MS,
    leaving: false,
    promise: null,
    begun: row.begun ?? now,
    attemptBegun: now,
  };
}

/** Its time has come. */
export function due(row: JobRow, now: number): JobRow {
  if (row.state !== 'suspended') return { ...row, state: 'waiting' };
  const by = (row.wait?.until ?? NEVER) <= now ? 'until' : 'deadline';
  return continued(row, { by, value: 'null' }, now);
}

/** Its process let its lease run out. */
export function lost(row: JobRow, now: number): JobRow {
  if (row.stop) return stopped(row, now);
  const back = idle({ ...row, state: 'waiting', at: now });
  const times = row.lost + 1;
  if (row.leaving && row.mostAttempts !== 1) return back;
  if (row.mostAttempts === 1) return ended({ ...row, lost: times }, 'dead', MAY_HAVE_HAPPENED, now);
  if (times >= MOST_LOSSES && row.mostAttempts !== NEVER)
    return ended({ ...row, lost: times }, 'dead', { code: 'lost', message: `the process died ${times} times during it` }, now);
  return { ...back, lost: times };
}

/** It is not repeated. */
export const MAY_HAVE_HAPPENED = { code: 'lost', message: 'its process ended during it; it may have happened' };

/** How an attempt ended. */
export function settled(row: JobRow, outcome: Outcome, now: number): JobRow {
  if (row.stop && outcome.kind !== 'done') return stopped(row, now);
  switch (outcome.kind) {
    case 'done':
      return { ...ended(row, 'done', null, now), result: outcome.result };
    case 'failed': {
      const attempts = row.attempts + 1;
      const failed = { ...row, attempts, lost: 0 };
      if (outcome.isFinal || attempts >= row.mostAttempts) return ended(failed, 'dead', outcome.error, now);
      return idle({ ...failed, state: 'failed', at: outcome.retryAt, error: outcome.error });
    }
    case 'again':
      return idle({
        ...row,
        state: 'scheduled',
        at: outcome.at > now ? outcome.at : now + SOONEST_MS,
        attempts: 0,
        lost: 0,
        resumed: null,
      });
    case 'wait':
      return idle(waiting({ ...row, attempts: 0, lost: 0 }, outcome.wait, now));
    case 'returned': {
      // Later: as one that failed, so that it keeps its place in its sequence.
      const isLater = outcome.at !== null && outcome.at > now;
      return idle(isLater ? { ...row, state: 'failed', at: outcome.at } : { ...row, state: 'waiting', at: now });
    }
  }
}

/** Suspended, or resumed already. Whether the jobs that it waits for have ended is the store's to see. */
function waiting(row: JobRow, wait: Wait, now: number): JobRow {
  if (wait.resume && row.early !== null) return continued({ ...row, early: null }, { by: 'resume', value: row.early }, now);
  return { ...row, state: 'suspended', wait, at: Math.min(wait.until ?? NEVER, wait.deadline ?? NEVER), resumed: null };
}

/** A wait is over. */
export function continued(row: JobRow, resumed: Resumed, now: number): JobRow {
  return { ...row, state: 'waiting', at: now, wait: null, resumed };
}

/** Null where it has ended. */
export function resumed(row: JobRow, value: string, now: number): JobRow | null {
  if (hasEnded(row)) return null;
  if (row.state === 'suspended' && row.wait?.resume) return continued(row, { by: 'resume', value }, now);
  return { ...row, early: value };
}

/** Null where it has ended. One that runs is asked to end. */
export function cancelled(row: JobRow, { code, message }: Omit<NonNullable<JobRow['stop']>, 'at'>, now: number): JobRow | null {
  if (hasEnded(row)) return null;
  if (row.state === 'running') return { ...row, stop: row.stop ?? { code, message, at: now } };
  return ended(row, 'cancelled', { code, message }, now);
}

/** It was asked to end, and its attempt is over or was given up. */
function stopped(row: JobRow, now: number): JobRow {
  const { code, message } = row.stop ?? { code: 'cancelled', message: '' };
  return ended(row, 'cancelled', { code, message }, now);
}

/** New attempts; null where it is not over, or done. */
export function retried(row: JobRow, now: number): JobRow | null {
  if (row.state !== 'dead' && row.state !== 'cancelled' && row.state !== 'failed') return null;
  return { ...idle({ ...row, state: 'waiting', at: now }), attempts: 0, lost: 0, ended: null, seen: false };
}

function ended(row: JobRow, state: 'done' | 'cancelled' | 'dead', error: JobRow['error'], now: number): JobRow {
  return { ...idle({ ...row, state }), ended: now, error, wait: null, lost: state === 'done' ? 0 : row.lost };
}

function idle(row: JobRow): JobRow {
  return { ...row, holder: null, until: null, leaving: false, stop: null, promise: null };
}
