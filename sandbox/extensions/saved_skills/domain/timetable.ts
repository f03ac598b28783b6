import { localZone, nextCronTime, withoutNickname } from '@pith/cron-times';
import { PithError } from 'pith';
import type { SavedSkill } from './saved-skill.ts';

/** When it runs by itself next. null: it has no timetable, or one that cannot be read. */
export function nextOf({ schedule, time_zone }: Pick<SavedSkill, 'schedule' | 'time_zone'>, now: number): number | null {
  const next = schedule === null ? null : nextTime(schedule, time_zone, now);
  return typeof next === 'number' ? next : null;
}

/** The first times after `now` at which it runs by itself, `most` at most. */
export function nextTimesOf(skill: Pick<SavedSkill, 'schedule' | 'time_zone'>, now: number, most: number): readonly number[] {
  const next = nextOf(skill, now);
  return next === null || most === 0 ? [] : [next, ...nextTimesOf(skill, next, most - 1)];
}

/** Throws `schedule_invalid` for one that never falls due, or more often than each minute. */
export function checkTimetable(schedule: string, timeZone: string | null, now: number): void {
  const next = nextTime(schedule, timeZone, now);
  if (typeof next !== 'number') throw new PithError('schedule_invalid', `schedule ${next.problem}`, { cure: next.cure });
}

function nextTime(schedule: string, timeZone: string | null, now: number) {
  return nextCronTime(withoutNickname(schedule), timeZone ?? localZone(), now);
}
