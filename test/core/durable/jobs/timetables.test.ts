import { nextCronTime } from '@pith/cron-times';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ticksDue, type ScheduleRow } from '../../../../core/durable/index.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Each changes its clocks on another day, and by half an hour in the last. */
const CHANGES = [
  { zone: 'Europe/Berlin', forward: '2026-03-29T01:00Z', back: '2026-10-25T01:00Z' },
  { zone: 'America/New_York', forward: '2026-03-08T07:00Z', back: '2026-11-01T06:00Z' },
  { zone: 'Australia/Lord_Howe', forward: '2026-10-03T15:30Z', back: '2026-04-04T15:00Z' },
];
const CRONS = ['*/20 * * * *', '0 * * * *', '30 2 * * *', '45 1 * * *', '15 2 * * 0', '0 9 * * 1-5', '0 0 1 * *'];

const row = (changes: Partial<ScheduleRow> = {}): ScheduleRow => ({
  id: 'a.t',
  cron: '0 * * * *',
  zone: 'UTC',
  job: { name: 'a.x', version: 1, payload: '{"what":"soup"}', mostAttempts: 8, tells: false },
  missed: 'once',
  within: null,
  next: null,
  ...changes,
});

const ids = () => 'id';
const looks = (rows: readonly ScheduleRow[], now: number, isSetBack = false) => ticksDue(rows, { now, isSetBack }, ids);

const nextTick = (cron: string, zone: string, after: number): number | null => {
  const next = nextCronTime(cron, zone, after);
  return typeof next === 'number' ? next : null;
};

function ticksBetween(cron: string, zone: string, from: number, to: number): readonly number[] {
  const found: number[] = [];
  for (let at = nextTick(cron, zone, from); at !== null && at < to; at = nextTick(cron, zone, at)) found.push(at);
  return found;
}

/** The ticks that jobs are made for when one looks at these times, and the row afterwards. */
function fired(start: ScheduleRow, times: readonly number[]): { readonly at: readonly number[]; readonly row: ScheduleRow } {
  const at: number[] = [];
  let current = start;
  let before = -Infinity;
  for (const now of times) {
    const isSetBack = now < before;
    before = now;
    if (!isSetBack && (current.next ?? Infinity) > now) continue; // nothing to ask: as the loop does
    for (const { next, job } of looks([current], now, isSetBack).ticks) {
      current = { ...current, next };
      if (job !== null && job.skipped === null) at.push(JSON.parse(job.payload).at);
    }
  }
  return { at, row: current };
}

const everyMinute = (from: number, to: number): readonly number[] =>
  Array.from({ length: Math.floor((to - from) / MINUTE) }, (_, minute) => from + minute * MINUTE);

it('J10: over a quarter of minutes, with a change of the clocks, each tick is one job at its time', () => {
  const from = Date.parse('2026-02-01T00:00:30Z');
  const to = from + 90 * DAY;
  for (const cron of ['30 2 * * *', '0 */12 * * 1-5']) {
    const { at } = fired(row({ cron, zone: 'Europe/Berlin', next: nextTick(cron, 'Europe/Berlin', from) }), everyMinute(from, to));
    expect(at).toEqual(ticksBetween(cron, 'Europe/Berlin', from, to - MINUTE));
  }
});

it('J10: whatever was missed between two looks is one job, for the last of its ticks', () => {
  const look = fc.record({
    change: fc.nat(5),
    cron: fc.constantFrom(...CRONS),
    gaps: fc.array(fc.integer({ min: 1, max: 9 * HOUR }), { maxLength: 12 }),
  });
  fc.assert(
    fc.property(look, ({ change, cron, gaps }) => {
      const { zone, forward, back } = CHANGES[change % 3] as (typeof CHANGES)[number];
      let now = Date.parse(change < 3 ? forward : back) - 30 * HOUR;
      let current = row({ cron, zone, next: nextTick(cron, zone, now) });
      for (const gap of gaps) {
        const missed = ticksBetween(cron, zone, now, now + gap + 1);
        now += gap;
        const { ticks, next } = looks([current], now);
        expect(ticks.flatMap(({ job }) => (job === null ? [] : [JSON.parse(job.payload).at]))).toEqual(missed.slice(-1));
        expect(ticks.map(({ job }) => job?.late)).toEqual(missed.slice(-1).map((at) => now - at > MINUTE || missed.length > 1));
        current = { ...current, next: next === Infinity ? null : next };
        expect(current.next).toBe(nextTick(cron, zone, now));
      }
    }),
    { numRuns: process.env['PITH_TEST_LONG'] ? 2_000 : 60 },
  );
});

describe('J10: a clock that is wrong for a while', () => {
  const start = Date.parse('2026-01-10T02:30:00Z');
  const cron = '0 4 * * *';
  const begin = row({ cron, next: nextTick(cron, 'UTC', start) });
  const days = (...offsets: readonly number[]): readonly number[] => offsets.map((day) => Date.parse('2026-01-10T04:00Z') + day * DAY);

  it('is a month ahead for a minute: one job for what it skipped, and the timetable goes on with today', () => {
    const { at } = fired(begin, [start, start + 31 * DAY, ...everyMinute(start + MINUTE, start + 3 * DAY)]);
    expect(at).toEqual([days(30)[0], ...days(0, 1, 2)]);
  });

  it('goes a day back after a tick: nothing is repeated, and nothing lost', () => {
    const after = start + 2 * HOUR;
    const { at } = fired(begin, [...everyMinute(start, after), ...everyMinute(after - DAY, after + 2 * DAY)]);
    expect(at).toEqual(days(0, 1, 2));
  });

  it('goes an hour back after a tick of each minute: it follows', () => {
    const { at } = fired(row({ cron: '* * * * *', next: start + MINUTE }), [
      ...everyMinute(start, start + 5 * MINUTE),
      ...everyMinute(start - HOUR, start - HOUR + 5 * MINUTE),
    ]);
    expect(at).toEqual([1, 2, 3, 4, -59, -58, -57, -56].map((minute) => start + minute * MINUTE));
  });
});

describe('J10: what was missed', () => {
  const due = Date.parse('2026-01-10T04:00Z');
  const hourly = { next: due };
  it.each([
    ['once, by default', {}, 90 * MINUTE, null],
    ['nothing with skip', { missed: 'skip' as const }, 90 * MINUTE, 'its time was missed'],
    ['a tick that is in time with skip', { missed: 'skip' as const }, 3 * HOUR + 20_000, null],
    ['nothing that is later than within', { within: 1_000_000 }, 80 * MINUTE, 'it was late by more than 1000000 ms'],
    ['what is within', { within: 1_000_000 }, 70 * MINUTE, null],
  ])('%s', (_, changes, lateMs, skipped) => {
    const [tick] = looks([row({ ...hourly, ...changes })], due + lateMs).ticks;
    expect(tick?.job?.skipped).toBe(skipped);
    expect(JSON.parse(tick?.job?.payload ?? '')).toEqual({ what: 'soup', at: due + Math.floor(lateMs / HOUR) * HOUR });
  });
});

it('J10: a payload that is no object stays as it is', () => {
  for (const payload of ['3', '[1]', 'null', '"x"'])
    expect(looks([row({ next: 1_000, job: { ...row().job, payload } })], 2_000).ticks[0]?.job?.payload).toBe(payload);
});

it('J10: a timetable that this machine cannot read ends, and no other', () => {
  const rows = [
    row({ id: 'a.gone', zone: 'Mars/Olympus', next: 1_000 }),
    row({ id: 'a.never', cron: '0 0 30 2 *', next: 1_000 }),
    row({ next: 1_000 }),
  ];
  const { ticks, broken, next } = looks(rows, 2_000);
  expect(ticks.map(({ schedule, next, job }) => [schedule, next, job !== null])).toEqual([
    ['a.gone', null, false],
    ['a.never', null, true],
    ['a.t', HOUR, true],
  ]);
  expect(broken).toEqual([{ schedule: 'a.gone', why: "'0 * * * *' is for the unknown time zone 'Mars/Olympus'" }]);
  expect(next).toBe(HOUR);
});
