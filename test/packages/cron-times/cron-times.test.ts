import { fieldsOf, nextCronTime } from '@pith/cron-times';
import { expect, it, onTestFinished, vi } from 'vitest';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const two = (number: number) => String(number).padStart(2, '0');

it.each([
  ['Europe/Berlin', '2026-03-29T01:00Z', '2026-10-25T01:00Z'],
  ['America/New_York', '2026-03-08T07:00Z', '2026-11-01T06:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30Z', '2026-04-04T15:00Z'],
])('J10 each minute that there is has its time where a pattern names none, in %s', (zone, ...changes) => {
  for (const from of changes.map((change) => Date.parse(change) - HOUR))
    for (let at = from; at < from + 2 * HOUR; at += 60_000) expect(nextCronTime('* * * * *', zone, at)).toBe(at + 60_000);
});

/** Each changes its clocks on another day, at another hour, or by another span. */
const ZONES = ['Europe/Rome', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago', 'Atlantic/Azores', 'Asia/Kolkata'];

/** Minutes of the day, as fields of cron and one by one. */
const TIMES: readonly (readonly [fields: string, hours: readonly number[], minutes: readonly number[]])[] = [
  ['30 2', [2], [30]],
  ['45 1', [1], [45]],
  ['30 2,14', [2, 14], [30]],
  ['*/20 1-3', [1, 2, 3], [0, 20, 40]],
  ['15 */2', [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22], [15]],
  ['0,45 0,23', [0, 23], [0, 45]],
];

it('J10 K31 M51 each time of a day is there once: that which clocks skip at the end of the gap, that which they repeat the first time', () => {
  for (const zone of ZONES) {
    const shown = new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
    const from = Date.parse('2026-01-10T00:00Z');
    const offsetOf = (at: number) => Date.parse(`${shown.format(at).replace(' ', 'T')}Z`) - at;
    const days = Array.from({ length: 365 }, (_, day) => from + day * DAY);
    const changes = days.filter((day) => offsetOf(day) !== offsetOf(day + DAY));
    for (const day of [from, ...changes]) {
      const minutes = Array.from({ length: 3 * 1440 }, (_, minute) => day - DAY + minute * 60_000);
      const texts = minutes.map((at) => shown.format(at));
      for (const [fields, hours, of] of TIMES) {
        const dates = [...new Set(texts.map((text) => text.slice(0, 10)))];
        const wanted = dates.flatMap((date) => hours.flatMap((hour) => of.map((minute) => `${date} ${two(hour)}:${two(minute)}`)));
        const inside = wanted.filter((text) => text > texts[0]! && text < texts.at(-1)!);
        const first = inside.map((text) => minutes[texts.includes(text) ? texts.indexOf(text) : texts.findIndex((each) => each > text)]!);
        const due = [...new Set(first)].sort();
        const found: number[] = [];
        for (let at: unknown = due[0]! - 1; found.length < due.length;)
          found.push((at = nextCronTime(`${fields} * * *`, zone, at as number)) as number);
        expect([zone, fields, found]).toEqual([zone, fields, due]);
      }
    }
  }
});

it.each([
  ['0 4 * *', 'UTC', 'must have five fields'],
  ['* * * * * *', 'UTC', 'must have five fields'],
  ['@daily', 'UTC', 'must have five fields'],
  ['61 4 * * *', 'UTC', 'cannot be read: the minute is 0 to 59, not 61$'],
  ['0 0 1,32 * *', 'UTC', 'cannot be read: the day is 1 to 31, not 32$'],
  ['0 0 1 13 *', 'UTC', 'cannot be read: the month is 1 to 12, not 13$'],
  ['0 0 1#1 * *', 'UTC', 'cannot be read: '],
  ['0 L * * *', 'UTC', 'cannot be read: '],
  ['0 0 31 2 *', 'UTC', 'never comes due'],
  ['0 9 * * *', 'Nowhere/Land', "is for the unknown time zone 'Nowhere/Land'"],
])('J10 K31 M47 refuses %s in %s', (cron, zone, why) => {
  const problem = expect.stringMatching(`^'${cron.replaceAll('*', '\\*')}' ${why}`);
  expect(nextCronTime(cron, zone, 0)).toEqual({ problem, cure: expect.any(String), isNever: why.startsWith('never') });
});

it('J10 keeps the clock of a zone for the next time, not of names that are none, and no more than some', () => {
  const made = vi.spyOn(Intl, 'DateTimeFormat');
  onTestFinished(() => made.mockRestore());
  const times = (zone: string) => {
    made.mockClear();
    for (let at = 0; at < 9 * DAY; at += DAY) nextCronTime('0 9 * * *', zone, at);
    return made.mock.calls.filter(([, options]) => options?.timeZone === zone).length;
  };
  const name = 'Pacific/Auckland';
  const names = Array.from({ length: 100 }, (_, number) =>
    [...name].map((letter, index) => ((number >> index) & 1 ? letter.toUpperCase() : letter.toLowerCase())).join(''),
  );
  expect([times(name), times(name), times('Nowhere/Land')]).toEqual([1, 0, 9]);
  expect(new Set(names.map(times))).toEqual(new Set([1])); // each is a name of it
  expect(times(name)).toBe(1); // it was forgotten for them
});

it('M47 nicknames stand for five fields', () => {
  expect(fieldsOf(' @Daily ')).toBe('0 0 * * *');
  expect(fieldsOf('@reboot')).toBe('@reboot');
  expect(fieldsOf('30 9 * * *')).toBe('30 9 * * *');
});
