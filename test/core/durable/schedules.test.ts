import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { fakeClock, type FakeClock } from 'pith/testing';
import { type DeclaredSchedule, openNode, type Node } from './world.ts';
import { folderWith } from '../../places.ts';
import { gate, passing, until } from '../../waiting.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const zone = process.env['TZ'];
let folder: string;

beforeAll(() => void (process.env['TZ'] = 'Europe/Berlin'));
afterAll(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});
beforeEach(() => void (folder = folderWith()));

/** A process with schedules; `runs` are the times for which the handler was called. */
function open(
  clock: LeapingClock,
  schedules: () => readonly DeclaredSchedule[],
  runs: number[],
  handle: () => Promise<void> | void = () => undefined,
): Node {
  const tick = (payload: unknown) => {
    runs.push((payload as { at: number }).at);
    return handle();
  };
  const node = openNode(folder, clock, { 'a/tick': tick }, { schedules });
  node.start();
  return node;
}

const tick = (cron: string): DeclaredSchedule => ({ extensionId: 'a', name: 't', cron, handler: 'tick' });

interface LeapingClock extends FakeClock {
  /** Moves time on, or back, without running what falls due. */
  leap(ms: number): void;
}

function leapingClock(start: string): LeapingClock {
  const base = fakeClock(Date.parse(start));
  let shift = 0;
  return { ...base, now: () => base.now() + shift, leap: (ms) => void (shift += ms) };
}

/** In steps of ten minutes with a second each of them: a loop that is idle looks four times a second. */
async function pass(clock: LeapingClock, ms: number, node: Node): Promise<void> {
  for (let left = ms; left > 0; left -= 600_000) {
    clock.leap(599_000);
    await clock.advance(1000);
    await settled(clock, node);
  }
}

/** Until nothing that is due waits: what comes next would take its place. */
async function settled(clock: LeapingClock, { store }: Node): Promise<void> {
  await passing(clock, () => expect(store.all('SELECT id FROM jobs UNION ALL SELECT event FROM deliveries')).toEqual([]), 100);
}

const next = (node: Node) => node.store.get('SELECT next FROM job_schedules')?.['next'];
const planned = (node: Node) => until(() => expect(next(node)).toEqual(expect.any(Number)));

it('K31 C6 a schedule fires at each of its times, exactly once with two processes, also over a change of the clocks', async () => {
  const clock = leapingClock('2026-10-24T22:59:00Z');
  const runs: number[] = [];
  const first = open(clock, () => [tick('0 * * * *')], runs);
  const second = open(clock, () => [tick('0 * * * *')], runs);
  await planned(first);
  await planned(second);
  await pass(clock, 4 * HOUR, first);
  const start = Date.parse('2026-10-24T23:00:00Z');
  expect([...runs].sort()).toEqual([0, 1, 2, 3].map((hour) => start + hour * HOUR));
});

it('K31 runs that were missed collapse to one, after a restart too', async () => {
  const clock = leapingClock('2026-01-01T00:30:00Z');
  const runs: number[] = [];
  const first = open(clock, () => [tick('0 * * * *')], runs);
  await planned(first);
  await first.close();
  await clock.advance(50 * HOUR);
  const later = open(clock, () => [tick('0 * * * *')], runs);
  await until(() => expect(runs).toHaveLength(1));
  await settled(clock, later);
  await pass(clock, HOUR, later);
  expect(runs).toEqual([Date.parse('2026-01-03T02:00:00Z'), Date.parse('2026-01-03T03:00:00Z')]);
});

it.each(['succeeds', 'fails'])('K31 runs that came while one took too long collapse to one, where that %s', async (end) => {
  const clock = leapingClock('2026-01-01T00:59:00Z');
  const start = clock.now() + 60_000;
  const runs: number[] = [];
  const { opened: slow, open: free } = gate();
  const handle = async () => {
    if (runs.length > 1) return;
    await slow;
    if (end === 'fails') throw new Error('too late');
  };
  const node = open(clock, () => [tick('0 * * * *')], runs, handle);
  await planned(node);
  for (let hour = 0; hour < 3; hour += 1) {
    clock.leap(HOUR - 1000);
    await clock.advance(1000);
    await until(() => expect(node.store.get('SELECT count(*) AS n FROM events')).toEqual({ n: hour + 1 }));
    await until(() => expect(runs).toEqual([start]));
  }
  free();
  await passing(clock, () => expect(node.store.all('SELECT event FROM deliveries')).toEqual([]));
  expect(runs).toEqual([start, start + 2 * HOUR]);
});

it('K31 a clock that jumps a day ahead or back neither repeats nor loses a run', async () => {
  const clock = leapingClock('2026-01-01T02:30:00Z');
  const runs: number[] = [];
  const node = open(clock, () => [tick('0 4 * * *')], runs); // 03:00 UTC
  const jump = async (ms: number) => {
    clock.leap(ms);
    await clock.advance(60_000);
    await settled(clock, node);
  };
  await planned(node);
  await jump(DAY); // the second of January, 02:31
  await until(() => expect(runs).toEqual([Date.parse('2026-01-01T03:00:00Z')]));
  await jump(-DAY);
  await pass(clock, HOUR, node); // over the time at which it ran already
  expect(runs).toHaveLength(1);
  await pass(clock, DAY, node);
  await until(() => expect(runs).toEqual([Date.parse('2026-01-01T03:00:00Z'), Date.parse('2026-01-02T03:00:00Z')]));
});

it.each(['while it runs', 'before it starts'])(
  'S13 a clock that was ahead for a month and is set right %s stops no schedule',
  async (when) => {
    const clock = leapingClock('2026-02-01T02:30:00Z');
    const runs: number[] = [];
    const ahead = open(clock, () => [tick('0 4 * * *')], runs); // 03:00 UTC
    await until(() => expect(next(ahead)).toBe(Date.parse('2026-02-01T03:00:00Z')));
    if (when === 'before it starts') await ahead.close();
    clock.leap(-31 * DAY);
    const node = when === 'before it starts' ? open(clock, () => [tick('0 4 * * *')], runs) : ahead;
    await passing(clock, () => expect(next(node)).toBe(Date.parse('2026-01-01T03:00:00Z')));
    await pass(clock, DAY + HOUR, node);
    expect(runs).toEqual([Date.parse('2026-01-01T03:00:00Z'), Date.parse('2026-01-02T03:00:00Z')]);
  },
);

it('K31 a schedule that was changed starts over, one that was removed is forgotten', async () => {
  const clock = leapingClock('2026-01-01T00:30:00Z');
  const runs: number[] = [];
  let declared = [tick('0 * * * *')];
  const node = open(clock, () => declared, runs);
  await planned(node);
  declared = [tick('45 * * * *')];
  node.refresh();
  await until(() => expect(next(node)).toBe(Date.parse('2026-01-01T00:45:00Z')));
  await pass(clock, HOUR, node);
  expect(runs).toEqual([Date.parse('2026-01-01T00:45:00Z')]);
  declared = [];
  node.refresh();
  await until(() => expect(next(node)).toBeUndefined());
  await pass(clock, 2 * HOUR, node);
  expect(runs).toHaveLength(1);
});
