import { describe, expect, it } from 'vitest';
import { canMount } from '../full-disk.ts';
import { foreign } from './foreign.ts';
import { type User, worldOf } from './harness.ts';
import { savedRuns } from './saved-runs.ts';
import { schedules } from './schedules.ts';
import { tasks } from './tasks.ts';
import { timetables } from './timetables.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
/** 3, in the long form 200. */
const KILLS = Number(process.env['PITH_TEST_ROUNDS'] ?? (isLong ? 200 : 3));
/** Longer than a lease; in the long form 10 s. */
const STALL_MS = isLong ? 10_000 : 3_000;
const HOUR_MS = 3_600_000;
/** How many KiB are left. */
const LEFT = isLong ? Array.from({ length: 40 }, (_, page) => page * 4) : [0, 24];
const ROUND_MS = 200_000;

/** Everybody who has work done later, with a little of each. */
const everybody = async (items = 40): Promise<readonly User[]> => [foreign(items), tasks(1), schedules(1), await savedRuns(6)];

describe.each(isLong ? [2, 4] : [2])('%i processes that work on jobs', (processes) => {
  it(
    `J6 J8 J9 J12 J13 K31 K91 M24 M48 M60 M68: kill -9 at ${KILLS} random points, and a stall of ${STALL_MS} ms: everything ends once, and who wakes changes nothing`,
    async () => {
      const world = await worldOf(await everybody(250), { processes });
      const wrong: string[] = [];
      for (let round = 0; round < KILLS; round += 1) {
        world.begin();
        await world.kill();
        if (round % 10 === 9) wrong.push(...(await world.settled()));
      }
      wrong.push(...(await world.settled()));
      world.begin();
      await world.stall(STALL_MS);
      wrong.push(...(await world.settled()));
      expect(wrong).toEqual([]);
    },
    (KILLS + 3) * ROUND_MS,
  );

  it(
    'J4 J10 K31 M48 M51: clocks that jump stop nothing, and each time of a timetable comes once',
    async () => {
      const hourly = timetables();
      const world = await worldOf([...(await everybody()), hourly], { processes });
      for (const hours of isLong ? [0.6, -0.6, 24, -24, 1] : [24, -24, 1]) {
        world.begin();
        if (hours > 0) hourly.passed();
        world.jumpClock(hours * HOUR_MS);
        expect(await world.settled()).toEqual([]);
      }
    },
    8 * ROUND_MS,
  );
});

it.skipIf(!canMount())(
  `J9: a disk that is full at ${LEFT.length} points: everything ends once when there is room again (only root may mount one)`,
  async () => {
    const world = await worldOf([foreign(40), tasks(1), await savedRuns(6, /the disk is full/)], { disk: true, processes: isLong ? 2 : 1 });
    for (const left of LEFT) {
      world.begin();
      await world.fillDisk(left);
      expect(await world.settled()).toEqual([]);
    }
  },
  (LEFT.length + 2) * ROUND_MS,
);
