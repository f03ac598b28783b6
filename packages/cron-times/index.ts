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
 * The first time after `after` at which five fields of cron are due in a time zone. Times of the day that daylight saving skips count as the
 * end of the gap, and those that it repeats count once; where the hour is `*`, all hours that there are count.
 */
export function nextCronTime(cron: string, zone: string, after: number): number | CronProblem {
  const refuse = (why: string, cure: string, isNever = false) => ({ problem: `'${cron.slice(0, 80)}' ${why}`, cure, isNever });
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5) return refuse('must have five fields', FIELDS);
  const shown = clockOf(zone);
  if (shown === null) return refuse(`is for the unknown time zone '${zone.slice(0, 80)}'`, 'name one such as Europe/Rome');
  const wrong = outOfRange(fields);
  if (wrong !== null) return refuse(`cannot be read: ${wrong}`, FIELDS);
  try {
    const next = fields[1] === '*' ? timesIn(cron, zone)(after) : nextOfDay(timesIn(cron, 'UTC'), shown, after);
    return next ?? refuse('never comes due', 'name a day that its month has', true);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^\w+: /, '') : 'no pattern';
    return refuse(`cannot be read: ${why}`, FIELDS);
  }
}

const RANGES = [
  ['minute', 0, 59],
  ['hour', 0, 23],
  ['day', 1, 31],
  ['month', 1, 12],
  ['weekday', 0, 7],
] as const;

/** The library counts days and months from 0 where it refuses one. */
function outOfRange(fields: readonly string[]): string | null {
  const wrong = fields.flatMap((field, at) => {
    const [name, least, most] = RANGES[at]!;
    const numbers = [...field.matchAll(/(?<![\d/#.])\d+(?![\d.])/g)].map(([text]) => Number(text));
    return numbers.filter((number) => number < least || number > most).map((number) => `the ${name} is ${least} to ${most}, not ${number}`);
  });
  return wrong[0] ?? null;
}

type Times = (after: number) => number | null;

function timesIn(cron: string, timezone: string): Times {
  const times = new Cron(cron, { mode: '5-part', paused: true, timezone });
  return (after) => times.nextRun(new Date(after))?.getTime() ?? null;
}

/** By what clocks show. The library does so for one time of a day alone: of several it repeats those of the doubled hour, and skips those of the gap. */
function nextOfDay(times: Times, shown: Shown, after: number): number | null {
  for (let next = times(shown(after)); next !== null; next = times(next)) {
    const at = firstShowing(next, shown);
    if (at > after) return at;
  }
  return null;
}

/** The first moment at which clocks show `time`; where they skip it, the end of the gap. */
function firstShowing(time: number, shown: Shown): number {
  const offsets = [time - DAY_MS, time + DAY_MS].map((at) => shown(at) - at);
  let early = time - Math.max(...offsets);
  let late = time - Math.min(...offsets);
  for (const at of [early, late]) if (shown(at) === time) return at;
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (shown(middle) < time) early = middle;
    else late = middle;
  }
  return late;
}

const DAY_MS = 86_400_000;

/** What clocks show, as the milliseconds at which those of UTC show it. */
type Shown = (at: number) => number;

/** By zone: to make one takes longer than all else here. Names come from people, and one zone has many. */
const clocks = new Map<string, Shown>();
const MOST_CLOCKS = 100;

/** null: there is no such zone. */
function clockOf(timeZone: string): Shown | null {
  const shown = clocks.get(timeZone) ?? newClock(timeZone);
  if (shown === null || clocks.has(timeZone)) return shown;
  if (clocks.size >= MOST_CLOCKS) clocks.clear();
  clocks.set(timeZone, shown);
  return shown;
}

function newClock(timeZone: string): Shown | null {
  try {
    const number = 'numeric';
    const parts = { year: number, month: number, day: number, hour: number, minute: number, second: number } as const;
    const format = new Intl.DateTimeFormat('en', { timeZone, calendar: 'iso8601', hourCycle: 'h23', ...parts });
    return (at) => {
      const of = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
      const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = of;
      return Date.UTC(year, month - 1, day, hour, minute, second) + (at - Math.floor(at / 1000) * 1000);
    };
  } catch {
    return null; // it throws for unknown names
  }
}

const FIELDS = "write minute, hour, day, month and weekday, such as '0 3 * * *'";

/** The five fields of `@daily` and the like; any other text as it is. */
export function withoutNickname(cron: string): string {
  const text = cron.trim();
  return NICKNAMES.get(text.toLowerCase()) ?? text;
}

const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

export function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
