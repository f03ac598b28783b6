import { localTime } from '@pith/command-line';
import { expect, it } from 'vitest';

it('U23 times are local and short: today by the clock, else with the day', () => {
  const at = new Date(2026, 10, 23, 14, 5, 59).getTime();
  expect(localTime(at, new Date(2026, 10, 23, 23, 59).getTime())).toBe('14:05');
  expect(localTime(at, new Date(2026, 10, 24, 0, 1).getTime())).toBe('2026-11-23 14:05');
  expect(localTime(at)).toBe('2026-11-23 14:05');
});
