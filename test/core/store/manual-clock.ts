import { fakeClock } from 'pith/testing';

/** As `fakeClock`, with how long was slept. With `jump`, a sleep moves time on. */
export function manualClock({ jump = false, start = 1_700_000_000_000 }: { readonly jump?: boolean; readonly start?: number } = {}) {
  const clock = fakeClock(start);
  const slept: number[] = [];
  return {
    ...clock,
    slept,
    sleep(ms: number, signal?: AbortSignal): Promise<void> {
      slept.push(ms);
      const done = clock.sleep(ms, signal);
      if (jump) void clock.advance(ms);
      return done;
    },
  };
}
