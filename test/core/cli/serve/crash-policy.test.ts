import { describe, expect, it } from 'vitest';
import { afterCrash, CRASH_WINDOW_MS, NO_CRASHES } from '../../../../core/cli/index.ts';

type Suspect = Parameters<typeof afterCrash>[1][number];

const suspect = (id: string, changedAt: number, inProcess = true): Suspect => ({ id, digest: `digest of ${id}`, changedAt, inProcess });

/** The decision after `times`, each the moment of a crash. */
function after(times: readonly number[], suspects: readonly Suspect[], crashes = NO_CRASHES) {
  let last = { crashes, decision: undefined as unknown };
  for (const at of times) last = afterCrash(last.crashes, suspects, at);
  return last as ReturnType<typeof afterCrash>;
}

describe('what a supervisor does after a crash', () => {
  it('K21 starts the kernel again, later each time', () => {
    const waits = [1, 2, 3, 4].map(
      (count) =>
        after(
          Array.from({ length: count }, (_, at) => at),
          [],
        ).decision,
    );
    expect(waits).toEqual([200, 400, 800, 1600].map((afterMs) => ({ act: 'start', afterMs })));
  });

  it('K21 leaves out the newest changed extension after five crashes in five minutes', () => {
    const suspects = [suspect('old', 1), suspect('new', 9), suspect('middle', 5)];
    expect(after([0, 1, 2, 3, 4], suspects).decision).toEqual({ act: 'quarantine', suspects: [suspects[1]] });
  });

  it('K21 one that runs inside the kernel comes before a newer one that does not', () => {
    const suspects = [suspect('apart', 9, false), suspect('inside', 1)];
    expect(after([0, 1, 2, 3, 4], suspects).decision).toEqual({ act: 'quarantine', suspects: [suspects[1]] });
  });

  it('K21 crashes that lie apart are no reason', () => {
    const times = [0, 1, 2, 3].map((count) => (count * CRASH_WINDOW_MS) / 4);
    expect(after([...times, CRASH_WINDOW_MS], [suspect('a', 1)]).decision).toMatchObject({ act: 'start' });
  });

  it('K21 then leaves out all that changed, and gives up when nothing is left', () => {
    const first = after([0, 1, 2, 3, 4], [suspect('a', 2), suspect('b', 1), suspect('c', 0)]);
    const rest = [suspect('b', 1), suspect('c', 0)];
    const second = after([5, 6, 7, 8, 9], rest, first.crashes);
    expect(second.decision).toEqual({ act: 'quarantine', suspects: rest });
    expect(after([10, 11, 12, 13, 14], [], second.crashes).decision).toEqual({ act: 'give up' });
  });
});
