import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { runCell } from './faults/fault-cell.ts';
import { FAULTS, PHASES } from './faults/faulty-extension.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
/** One for each way in which code ends what it began: with an error, never, by what it takes, and with its process. test/core/process has the others. */
const QUICK: readonly (readonly [phase: string, code: string])[] = [
  ['initialize', 'reject'],
  ['getContext', 'hang'],
  ['tool call', 'heap: objects'],
  ['stop', 'process.kill'],
];

const cells = PHASES.flatMap((phase) =>
  Object.entries(FAULTS).flatMap(([fault, shapes]) => Object.entries(shapes).map(([name, code]) => ({ phase, fault, name, code }))),
);
const chosen = isLong ? cells : cells.filter(({ phase, name }) => QUICK.some(([at, code]) => at === phase && code === name));

describe.skipIf(process.platform !== 'linux')('the fault matrix (Linux only: it looks for descendants in /proc)', () => {
  it('K10 has nine phases and twelve faults; the quick form has a fault of each kind', () => {
    expect(new Set(cells.map(({ phase, fault }) => `${phase} × ${fault}`)).size).toBe(108);
    expect(chosen).toHaveLength(isLong ? cells.length : QUICK.length);
  });

  const limit = slots(Math.max(2, Math.min(4, availableParallelism())));
  it.concurrent.each(chosen)(
    'K10 $phase × $name: the kernel and the others go on, and doctor says what happened',
    (cell) => expect(limit(() => runCell(cell))).resolves.toBeUndefined(),
    isLong ? 3_600_000 : 120_000,
  );
});

/** At most so many at once; a cell may fill two processors. */
function slots(count: number): (run: () => Promise<void>) => Promise<void> {
  let free = count;
  const queue: (() => void)[] = [];
  return async (run) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      await run();
    } finally {
      const next = queue.shift();
      if (next) next();
      else free += 1;
    }
  };
}
