import { nextCronTime, withoutNickname } from '@pith/cron-times';
import { expect, it, onTestFinished, vi } from 'vitest';

const DAY = 24 * 3_600_000;

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
  expect(withoutNickname(' @Daily ')).toBe('0 0 * * *');
  expect(withoutNickname('@reboot')).toBe('@reboot');
  for (const word of ['__proto__', 'constructor', 'toString']) expect(withoutNickname(word)).toBe(word);
  expect(withoutNickname('30 9 * * *')).toBe('30 9 * * *');
});
