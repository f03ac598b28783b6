import { nextCronTime } from '@pith/cron-times';
import { expect, it } from 'vitest';

/** `npm run test:soak` compares all; else some of it. */
const LONG = process.env['PITH_TEST_LONG'] !== undefined;

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const FROM = Date.UTC(2026, 0, 1);
const YEARS = LONG ? 5 : 1;
const TO = Date.UTC(2026 + YEARS, 0, 1);

/** Clocks that change on other days, at other hours, by other spans, at midnight, twice a year more, or never. */
const ZONES = [
  'Europe/Rome',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Africa/Casablanca',
  'America/New_York',
  'Atlantic/Azores',
  'Africa/Cairo',
  'Pacific/Chatham',
  'Asia/Kolkata',
  'UTC',
].slice(0, LONG ? 10 : 5);

const MINUTES = ['0', '30', '*', '*/7', '15,45', '10-20/5', '59', '0,1'];
const HOURS = ['*', '0', '2', '2,14', '1-3', '*/5', '23', '0-23/2'];
const DATES = ['* * *', '1 * *', '29 2 *', '31 */2 *', '* * MON-FRI', '13 * 5', 'L * *', '15W * *', 'LW 1-6 *', '* * 1#1', '* * SUN#5'];
const MORE_DATES = ['* * 5L', '1-7 MAR,OCT 0', '*/10 * *', '* 3,10,11 7', '1W,L * *', '31W * *', '? * 6'];

/** Two hundred, each value of a field with many of the others. */
const PATTERNS = Array.from({ length: 200 }, (_, at) => {
  const dates = [...DATES, ...MORE_DATES];
  const [minute, hour] = [MINUTES[at % MINUTES.length], HOURS[(at + Math.floor(at / MINUTES.length)) % HOURS.length]];
  return `${minute} ${hour} ${dates[(at * 7) % dates.length]}`;
}).filter((_, at) => LONG || at % 13 === 0);

it(
  `J10 K31 M51 T1 agrees with a search through each minute of ${YEARS} years: ${PATTERNS.length} patterns in ${ZONES.length} zones`,
  () => {
    const wrong = ZONES.flatMap((zone) => {
      const clock = clockOf(zone);
      return PATTERNS.flatMap((pattern) => {
        const due = dueTimes(pattern, clock);
        const some = due.filter((_, at) => at % Math.ceil(due.length / (LONG ? 40 : 8)) === 0);
        return [...momentsAround(clock), ...some].flatMap((after) => {
          const wanted = firstAfter(due, after);
          const found = wanted === null ? null : nextCronTime(pattern, zone, after);
          return found === wanted
            ? []
            : [[zone, pattern, ...[after, wanted, found].map((at) => new Date(at as number).toJSON())].join(' ')];
        });
      });
    });
    expect(wrong.slice(0, 20)).toEqual([]);
  },
  LONG ? 900_000 : undefined,
);

/** null: none within the years. */
function firstAfter(due: readonly number[], after: number): number | null {
  let [from, to] = [0, due.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (due[middle]! > after) to = middle;
    else from = middle + 1;
  }
  return due[from] ?? null;
}

/** The spans of one offset, in order. */
interface Span {
  readonly from: number;
  readonly offset: number;
}

function clockOf(timeZone: string): readonly Span[] {
  const format = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  const offsetAt = (at: number) => Date.parse(`${format.format(at).replace(' ', 'T')}Z`) - at;
  const spans: Span[] = [];
  for (let at = FROM - 3 * DAY; at < TO + 3 * DAY; at += DAY) {
    if (spans.length > 0 && offsetAt(at) === spans.at(-1)!.offset) continue;
    let from = at;
    if (spans.length > 0) for (from = at - DAY; offsetAt(from) === spans.at(-1)!.offset;) from += 15 * MINUTE;
    spans.push({ from, offset: offsetAt(from) });
  }
  return spans;
}

/** Before, in and after each change of the clocks. */
function momentsAround(clock: readonly Span[]): readonly number[] {
  const hours = LONG ? [-25, -3, -2, -1.5, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2, 3, 24] : [-2, -0.5, 0, 0.5, 1];
  return clock.slice(1).flatMap(({ from }) => hours.map((hour) => from + hour * 60 * MINUTE + 1));
}

/** All of five years, in order, by the words of the page: what clocks skip at the end of the gap, what they repeat once, with `*` each hour that there is. */
function dueTimes(pattern: string, clock: readonly Span[]): readonly number[] {
  const [minutes = '', hours = '', ...date] = pattern.split(' ');
  const isDay = dayTest(date as [string, string, string]);
  const [minute, hour] = [valuesOf(minutes, 0, 59), valuesOf(hours, 0, 23)];
  const found = new Set<number>();
  for (let day = FROM; day < TO; day += DAY) {
    if (!isDay(new Date(day))) continue;
    const near = clock.filter(({ from }, at) => from < day + 3 * DAY && (clock[at + 1]?.from ?? Infinity) > day - 2 * DAY);
    for (const each of hour)
      for (const of of minute) for (const at of momentsOf(day + (each * 60 + of) * MINUTE, near, hours === '*')) found.add(at);
  }
  return [...found].filter((at) => at >= FROM).sort((one, other) => one - other);
}

/** The moments at which clocks show this time. */
function momentsOf(shown: number, clock: readonly Span[], everyHour: boolean): readonly number[] {
  const moments = clock.flatMap(({ from, offset }, at) => {
    const moment = shown - offset;
    return moment >= from && moment < (clock[at + 1]?.from ?? Infinity) ? [moment] : [];
  });
  if (moments.length > 0) return everyHour ? moments : moments.slice(0, 1);
  return everyHour ? [] : [clock.find(({ from, offset }) => from + offset > shown)!.from];
}

const MONTHS = ['', 'JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

function valuesOf(field: string, least: number, most: number, names: readonly string[] = []): ReadonlySet<number> {
  const number = (text: string) => (names.includes(text) ? names.indexOf(text) : Number(text));
  const values = field.split(',').flatMap((entry) => {
    const [range = '', step = '1'] = entry.split('/');
    const [from = least, to = from] = range === '*' ? [least, most] : range.split('-').map(number);
    return Array.from({ length: to - from + 1 }, (_, at) => from + at).filter((value) => (value - from) % Number(step) === 0);
  });
  return new Set(values);
}

/** Of UTC: dates are the same in all zones. Where day and weekday are given, either will do. */
function dayTest([days, months, weekdays]: readonly [string, string, string]): (date: Date) => boolean {
  const month = valuesOf(months, 1, 12, MONTHS);
  const isAny = (field: string) => field === '*' || field === '?';
  const isDay = (date: Date) => days.split(',').some((entry) => isDayEntry(entry, date));
  const isWeekday = (date: Date) => weekdays.split(',').some((entry) => isWeekdayEntry(entry, date));
  return (date) => {
    if (!month.has(date.getUTCMonth() + 1)) return false;
    if (isAny(days)) return isAny(weekdays) || isWeekday(date);
    return isDay(date) || (!isAny(weekdays) && isWeekday(date));
  };
}

function isDayEntry(entry: string, date: Date): boolean {
  const [day, last] = [date.getUTCDate(), lastOf(date)];
  if (entry === 'L') return day === last;
  const nearest = /^(\d+|L)W$/.exec(entry)?.[1];
  if (nearest === undefined) return valuesOf(entry, 1, 31).has(day);
  const wanted = nearest === 'L' ? last : Number(nearest);
  return wanted <= last && day === nearestWorkday(date, wanted, last);
}

function nearestWorkday(date: Date, wanted: number, last: number): number {
  const weekday = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), wanted)).getUTCDay();
  if (weekday === 6) return wanted > 1 ? wanted - 1 : wanted + 2;
  if (weekday === 0) return wanted < last ? wanted + 1 : wanted - 2;
  return wanted;
}

function isWeekdayEntry(entry: string, date: Date): boolean {
  const [day, last] = [date.getUTCDate(), lastOf(date)];
  const [, name = entry, which] = /^(.+?)(?:#(\d)|L)$/.exec(entry) ?? [];
  const days = valuesOf(name, 0, 6, WEEKDAYS);
  if (!days.has(date.getUTCDay()) && !(days.has(7) && date.getUTCDay() === 0)) return false;
  if (which !== undefined) return Math.ceil(day / 7) === Number(which);
  return name === entry || day + 7 > last;
}

function lastOf(date: Date): number {
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
}
