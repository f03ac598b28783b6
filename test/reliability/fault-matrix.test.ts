import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { runCell } from './faults/fault-cell.ts';
import { FAULTS, PHASES } from './faults/faulty-extension.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
/** Every phase and every fault once; those that are only ended by a time limit where that is short. */
const DIAGONAL: readonly (readonly [phase: string, code: string])[] = [
  ['construct', 'throw'],
  ['initialize', 'reject'],
  ['getContext', 'hang'],
  ['tool call', 'while(true)'],
  ['import', 'process.exit'],
  ['start', 'throw in a timer'],
  ['background', 'unhandled rejection'],
  ['reload', "emitter 'error'"],
  ['tool call', 'heap: objects'],
  ['background', 'off-heap growth'],
  ['getContext', 'a flood: fs.writeSync(1)'],
  ['initialize', 'a flood: messages'],
  ['stop', 'process.kill'],
  ['tool call', 'a blocking execFileSync'],
];

const cells = PHASES.flatMap((phase) =>
  Object.entries(FAULTS).flatMap(([fault, shapes]) => Object.entries(shapes).map(([name, code]) => ({ phase, fault, name, code }))),
);
const chosen = isLong ? cells : cells.filter(({ phase, name }) => DIAGONAL.some(([at, code]) => at === phase && code === name));

describe.skipIf(process.platform !== 'linux')('the fault matrix (Linux only: it looks for descendants in /proc)', () => {
  it('K10 has nine phases and twelve faults; the quick form has each of them', () => {
    expect(new Set(cells.map(({ phase, fault }) => `${phase} × ${fault}`)).size).toBe(108);
    expect(new Set(chosen.map(({ phase }) => phase)).size).toBe(9);
    expect(new Set(chosen.map(({ fault }) => fault)).size).toBe(12);
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
