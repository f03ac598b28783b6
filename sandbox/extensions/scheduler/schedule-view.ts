import type { Schedule } from './schedule.ts';
import { nextRun } from './times.ts';

/** When it runs next; null: it is due, or runs for the last time. */
export function nextOf({ cron, timeZone, at }: Schedule, now: number): number | null {
  const next = cron === null ? at : nextRun(cron, String(timeZone), now);
  return typeof next === 'number' && next > now ? next : null;
}

/** The fields that a list shows. */
export function scheduleView(schedule: Schedule, now: number) {
  const { id, agentId, message, cron, timeZone, last } = schedule;
  const next = nextOf(schedule, now);
  return {
    schedule_id: id,
    agent_id: agentId,
    message,
    ...(cron === null ? {} : { cron, time_zone: timeZone }),
    next: next === null ? null : new Date(next).toISOString(),
    ...(last === null ? {} : { last: { at: new Date(last.at).toISOString(), reason: last.reason } }),
  };
}
