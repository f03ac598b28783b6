import { existsSync, openSync, readSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What several runs measured. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** One line of the table. */
export interface Row {
  readonly figure: string;
  readonly unit: '' | 'ms' | 'µs' | 'MB' | 'KB' | '%' | 'tokens';
  readonly measured: Spread;
  /** The cheapest program that does the same, measured in the same run; null where there is none. */
  readonly floor: Spread | null;
  /** What `must` and `aim` bound: the figure, or the figure divided by its floor. */
  readonly bounds?: 'figure' | 'ratio';
  /** The floor of the machine for which the bounds were set: where this one's is higher, they rise as much. */
  readonly boundsAt?: number;
  readonly must?: number;
  readonly aim?: number;
  readonly note?: string;
}

export interface Effort {
  /** Runs of each program, interleaved. */
  readonly runs: number;
  readonly quick: boolean;
}

export type Bench = (effort: Effort) => Promise<readonly Row[]>;

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN };
}

/** `sorted` ascending. */
export function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const [low = NaN, high = NaN] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low + (high - low) * (at % 1);
}

/** Runs each program once a round, so that a slow moment of the machine meets all of them. The first round is not counted. */
export async function interleaved<Name extends string>(
  runs: number,
  programs: Readonly<Record<Name, () => number | Promise<number>>>,
): Promise<Readonly<Record<Name, Spread>>> {
  const values = new Map<Name, number[]>();
  for (let round = 0; round <= runs; round++) {
    for (const name of Object.keys(programs) as Name[]) {
      const value = await programs[name]();
      if (round > 0) values.set(name, [...(values.get(name) ?? []), value]);
    }
  }
  return Object.fromEntries([...values].map(([name, found]) => [name, spreadOf(found)])) as Record<Name, Spread>;
}

/** Milliseconds of wall time. */
export async function timed(work: () => unknown): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** Milliseconds of CPU time of this process. */
export async function cpuTimed(work: () => unknown): Promise<number> {
  const from = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1000;
}

const SCHEDULED = '/proc/thread-self/schedstat';
const scheduled = existsSync(SCHEDULED) ? openSync(SCHEDULED, 'r') : null;
const line = Buffer.alloc(64);

/** Milliseconds of CPU time that this thread has had, without those that collect garbage and compile beside it; of the process where that is not told. */
export function cpuOfThread(): number {
  if (scheduled !== null) return Number(line.toString('latin1', 0, readSync(scheduled, line, 0, line.length, 0)).split(' ')[0]) / 1e6;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes that live on the heap and outside of it, after a collection. */
export function liveBytes(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export function scaled({ median, min, max }: Spread, factor: number): Spread {
  return { median: median * factor, min: min * factor, max: max * factor };
}
