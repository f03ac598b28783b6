import { Cron } from 'croner';
import { messageOf, PithError } from 'pith';
import type { SavedSkill } from './saved-skill.ts';

/** When it runs by itself next. null: it has no timetable, or one that cannot be read. */
export function nextOf({ schedule, time_zone }: Pick<SavedSkill, 'schedule' | 'time_zone'>, now: number): number | null {
  if (schedule === null) return null;
  try {
    return nextTime(schedule, time_zone, now);
  } catch {
    return null; // a time zone that this system does not know: `plan` says so
  }
}

const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** The first time after `after` at which a schedule falls due. Throws `schedule_invalid` for one that never does, or more often than each minute. */
export function nextTime(schedule: string, timeZone: string | null, after: number): number {
  const text = schedule.trim();
  const fields = fieldsOf(text);
  const refuse = (why: string, cure: string) => new PithError('schedule_invalid', `schedule '${text.slice(0, 80)}' ${why}`, { cure });
  if (fields.startsWith('@')) throw refuse('is unknown', `use five fields, or one of ${Object.keys(NICKNAMES).join(', ')}`);
  if (fields.split(/\s+/).length !== 5) throw refuse('must have five fields', 'write: minute hour day month weekday');
  if (timeZone !== null && !isTimeZone(timeZone))
    throw new PithError('schedule_invalid', `the time zone '${timeZone.slice(0, 80)}' is unknown`, {
      cure: 'write one such as Europe/Rome',
    });
  let next: Date | null;
  try {
    next = new Cron(fields, { mode: '5-part', paused: true, ...(timeZone === null ? {} : { timezone: timeZone }) }).nextRun(
      new Date(after),
    );
  } catch (error) {
    throw refuse(`cannot be read: ${messageOf(error).replace(/^\w+: /, '')}`, 'write: minute hour day month weekday');
  }
  if (next === null) throw refuse('never comes due', 'name a day that its month has');
  return next.getTime();
}

/** Its five fields of cron. */
export function fieldsOf(schedule: string): string {
  const text = schedule.trim();
  return NICKNAMES[text.toLowerCase()] ?? text;
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) instanceof Intl.DateTimeFormat;
  } catch {
    return false; // how Node says that it does not know it
  }
}
