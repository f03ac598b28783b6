import { Cron } from 'croner';
import { type Clock, type Logger, messageOf } from '../contract/index.ts';
import type { EventHandlers } from '../kernel/index.ts';
import type { PlannedSchedule, PrepareEvent, ScheduleRow, ScheduleRows } from './journal.ts';

export type DeclaredSchedule = ReturnType<EventHandlers['schedules']>[number];

export interface SchedulesOptions {
  readonly journal: { readonly prepare: PrepareEvent; readonly schedules: ScheduleRows };
  readonly clock: Clock;
  readonly logger: Logger;
  /** The schedules of all enabled extensions. */
  declared(): readonly DeclaredSchedule[];
}

/** Keeps one future `schedule.due` event for each declared schedule; the durable timer delivers it. */
export function createSchedules({ journal, clock, logger, declared }: SchedulesOptions) {
  /** The earliest time when a run must be planned; 0: now. */
  let next: number = Infinity;
  let working: Promise<void> = Promise.resolve();
  /** The time of the last look. */
  let seen = -Infinity;

  function plan(): void {
    next = Infinity; // until the plan is made
    working = working.then(renew).catch((error: unknown) => {
      logger.warn('the schedules could not be planned', { error: messageOf(error) });
      next = clock.now() + RETRY_MS;
    });
  }

  async function renew(): Promise<void> {
    const wanted = new Map(declared().map((schedule) => [nameOf(schedule), schedule]));
    const rows = await journal.schedules.list();
    const now = clock.now();
    const isStale = rows.some(({ name, spec, next: at }) => {
      const schedule = wanted.get(name);
      return schedule === undefined || specOf(schedule) !== spec || at <= now || at > latestOf(schedule.cron, now);
    });
    const isPlanned = !isStale && rows.length === wanted.size;
    if (!isPlanned) await journal.schedules.plan(planned(now), now);
    next = firstOf(isPlanned ? rows : await journal.schedules.list());
  }

  function planned(now: number): readonly PlannedSchedule[] {
    return declared().map((schedule) => {
      const { extensionId, name, cron, handler } = schedule;
      const at = nextRun(cron, now);
      const key = `schedule ${nameOf(schedule)}`;
      const next = at === null ? null : { at, event: journal.prepare('schedule.due', { v: 1, extensionId, name, at }, { at, key }) };
      return {
        name: nameOf(schedule),
        spec: specOf(schedule),
        handler: `${extensionId}/${handler}`,
        key,
        next,
        latest: latestOf(cron, now),
      };
    });
  }

  return {
    /** Applies changed, removed and added schedules. */
    refresh: plan,
    /** Plans the next run of schedules that are due. Cheap when none is. */
    look(): void {
      const now = clock.now();
      if (now >= next || now < seen - SET_BACK_MS) plan();
      seen = now;
    },
  };
}

const RETRY_MS = 5000;
/** A clock that goes back by more than this was ahead before. */
const SET_BACK_MS = 1000;

/** The next time after `after` by `pattern`, in the machine's time zone; an hour that the clock skips counts as its end. null: never. */
export function nextRun(pattern: string, after: number): number | null {
  return new Cron(pattern, { mode: '5-part', paused: true }).nextRun(new Date(after))?.getTime() ?? null;
}

/**
 * A run later than this was planned while the clock was ahead. The second run from now, because the first may have run already: by the
 * clock's time, or because another process planned the next.
 */
function latestOf(pattern: string, now: number): number {
  const first = nextRun(pattern, now);
  return (first === null ? null : nextRun(pattern, first)) ?? Infinity;
}

function nameOf({ extensionId, name }: DeclaredSchedule): string {
  return `${extensionId}/${name}`;
}

function firstOf(rows: readonly ScheduleRow[]): number {
  return Math.min(Infinity, ...rows.map((row) => row.next));
}

/** Identifies the schedule's content, including the time zone of its times. */
function specOf({ cron, handler }: DeclaredSchedule): string {
  return JSON.stringify([cron, handler, Intl.DateTimeFormat().resolvedOptions().timeZone]);
}
