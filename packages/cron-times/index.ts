import { Cron } from 'croner';

/** Why a pattern has no next time. */
export interface CronProblem {
  /** A sentence that begins with the pattern. */
  readonly problem: string;
  readonly cure: string;
  /** It can be read, and no time is left. */
  readonly isNever: boolean;
}

/**
 * The first time after `after` at which five fields of cron are due in a time zone. Hours that daylight saving skips count as their end, and
 * those that it repeats count once.
 */
export function nextCronTime(cron: string, zone: string, after: number): number | CronProblem {
  const refuse = (why: string, cure: string, isNever = false) => ({ problem: `'${cron.slice(0, 80)}' ${why}`, cure, isNever });
  if (cron.trim().split(/\s+/).length !== 5) return refuse('must have five fields', FIELDS);
  if (!isTimeZone(zone)) return refuse(`is for the unknown time zone '${zone.slice(0, 80)}'`, 'name one such as Europe/Rome');
  try {
    const next = new Cron(cron, { mode: '5-part', paused: true, timezone: zone }).nextRun(new Date(after));
    return next?.getTime() ?? refuse('never comes due', 'name a day that its month has', true);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^\w+: /, '') : 'no pattern';
    return refuse(`cannot be read: ${why}`, FIELDS);
  }
}

const FIELDS = "write minute, hour, day, month and weekday, such as '0 3 * * *'";

/** The five fields of `@daily` and the like; any other text as it is. */
export function fieldsOf(cron: string): string {
  const text = cron.trim();
  return NICKNAMES[text.toLowerCase()] ?? text;
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

export function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false; // it throws for unknown names
  }
}
