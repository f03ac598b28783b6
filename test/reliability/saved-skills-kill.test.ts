import { describe, expect, it } from 'vitest';
import { moreUrgent, orderOfClaims, roundRobin } from '../extensions/saved_skills/competing.ts';
import { served } from '../extensions/saved_skills/served.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
/** 1, in the long form 200. */
const ROUNDS = Number(process.env['PITH_TEST_ROUNDS'] ?? (isLong ? 200 : 1));
/** Longer than a lease; in the long form 10 s. */
const STALL_MS = isLong ? 10_000 : 3_000;
/** What another process may need at most to take over what one has lost. */
const TAKE_OVER_MS = 5_000;
const SCHEDULED = isLong ? 20 : 2;
const TICKS = isLong ? 20 : 2;

describe('saved skills that two processes serve', () => {
  it(
    'M48 M60 M68 C2 each time of each schedule is one run; kill -9 at random points, and a stall among them: others take over within 5 s, every run ends once, and who wakes changes no row',
    async () => {
      const processes = await served(SCHEDULED);
      expect(await processes.ticks(TICKS)).toEqual(Array.from({ length: SCHEDULED }, () => TICKS));
      processes.check();
      const delays: number[] = [];
      let stalled = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        if (round === Math.floor(ROUNDS / 2)) stalled = await processes.stall(STALL_MS);
        delays.push(...(await processes.kill()));
      }
      expect(stalled).toBeGreaterThan(0);
      expect(Math.max(0, ...delays)).toBeLessThan(TAKE_OVER_MS);
      const { runs, attempts } = processes.check();
      console.info(
        `${ROUNDS} kills: ${runs} runs, ${attempts} attempts, ${delays.length} taken over in ${Math.max(0, ...delays)} ms at most`,
      );
    },
    60_000 + TICKS * 10_000 + ROUNDS * 30_000,
  );
});

describe.runIf(isLong)('lanes that two processes share, again and again', () => {
  it.each(Array.from({ length: 10 }, (_, round) => round + 1))(
    'M60 M65 1,500 ever more urgent runs, round %i',
    async () => {
      const { most, ok, preempted } = await moreUrgent(1500, 3);
      expect(most).toBe(3);
      expect(ok + preempted).toBe(1500);
    },
    120_000,
  );

  it('M60 M61 1,000 queued runs', async () => {
    for (const claims of (await orderOfClaims(1000)).values()) expect(claims).toEqual(roundRobin(1000));
  }, 120_000);
});
