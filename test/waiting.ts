/** How tests wait. Nothing else below `test/` sleeps or measures real time: a test waits for a fact, or moves its own clock. */
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FakeClock } from 'pith/testing';

/** Waits until `check` neither throws nor returns false, and gives what it returned. For what another process or the file system does: all else has a promise or an event. */
export async function until<T>(check: () => T | false | Promise<T | false>, limitMs = 60_000, everyMs = 5): Promise<T> {
  for (const last = performance.now() + limitMs; ;) {
    try {
      const value = await check();
      if (value !== false) return value;
      if (performance.now() > last) throw new Error(`it did not come to hold within ${limitMs} ms: ${check}`);
    } catch (error) {
      if (performance.now() > last) throw error;
    }
    await sleep(everyMs);
  }
}

/** What awaits `opened` goes on once `open` is called. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** As `until`, while a clock that stands still is moved on by `stepMs` now and then: real work on a real disk goes on between. */
export async function passing<T>(clock: FakeClock, check: () => T | false | Promise<T | false>, stepMs = 1000): Promise<T> {
  let round = 0;
  return until(async () => {
    if (round++ % 4 === 3) await clock.advance(stepMs);
    return check();
  });
}

/** Lets the time of a clock that stands still pass until `work` is done. */
export async function passed<T>(clock: FakeClock, work: Promise<T>, stepMs?: number): Promise<T> {
  let done = false;
  const end = (): void => void (done = true);
  work.then(end, end);
  await passing(clock, () => done, stepMs);
  return work;
}

/** Rejects where `work` takes longer in real time than a statement allows. Bounds are several times what it takes, for a machine that others use. */
export async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = sleep(limitMs, undefined, { signal: over.signal }).then(
    () => Promise.reject(new Error(`it took longer than ${limitMs} ms`)),
    () => new Promise<never>(() => undefined),
  );
  return Promise.race([work, late]).finally(() => over.abort());
}

/** Real time passes, for `why`: it is the subject, or nothing tells when what is waited for has happened. */
export async function realTime(
  ms: number,
  why: 'a kill at a random moment' | 'load over time' | 'figures of an idle kernel',
): Promise<void> {
  await sleep(ms, why);
}

/** What `yardstick` needs on the machine for which statements name their milliseconds of CPU. */
const YARDSTICK_MS = 20;

/** The same work each time, of the kinds that such statements are about: texts, expressions, maps and sorting. */
function yardstick(): number {
  const counts = new Map<string, number>();
  for (let number = 0; number < 12_000; number += 1) {
    const text = `word-${(number * 7919) % 4093} and a line that is number ${number}`;
    const key = text.replace(/\d+/g, (digits) => digits.slice(0, 3)).toLowerCase();
    counts.set(key, (counts.get(key) ?? 0) + text.length);
  }
  return [...counts.keys()].sort().length;
}

/** Milliseconds of CPU since `from`. */
function spentSince(from: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1000;
}

/** How many times slower this machine is now than that one; 1 where it is as fast, or faster. Other work on the same cores makes all work dearer. */
function slowness(): number {
  const from = process.cpuUsage();
  yardstick();
  return Math.max(1, spentSince(from) / YARDSTICK_MS);
}

/** As on the machine of `YARDSTICK_MS`. What is below `enoughMs` here is so there too. */
function asThere(ms: number, enoughMs: number): number {
  return ms < enoughMs ? ms : ms / slowness();
}

/** Milliseconds of CPU that `work` needs, as on the machine of `YARDSTICK_MS`: the least of five. Once is enough where it is below `enoughMs`. */
export async function leastCpu(work: () => unknown, enoughMs = 0): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < 5 && least >= enoughMs; round += 1) {
    const from = process.cpuUsage();
    await work();
    least = Math.min(least, asThere(spentSince(from), enoughMs));
  }
  return least;
}

export interface Cost {
  /** Milliseconds of CPU for which the event loop is held at most without letting others work. */
  readonly heldMs: number;
  /** Milliseconds of CPU in all. */
  readonly allMs: number;
}

/** What `work` costs, counted as in `leastCpu`: once is enough where both are below `enough`. */
export async function leastCost(work: () => Promise<unknown>, enough: Cost): Promise<Cost> {
  let least: Cost = { heldMs: Infinity, allMs: Infinity };
  for (let round = 0; round < 5 && (least.heldMs >= enough.heldMs || least.allMs >= enough.allMs); round += 1) {
    let longest = 0;
    const began = process.cpuUsage();
    let from = began;
    const turn = (): void => {
      longest = Math.max(longest, spentSince(from));
      from = process.cpuUsage();
    };
    const watching = setInterval(turn, 1);
    await work().finally(() => clearInterval(watching)); // what went on would take a whole core from all tests after it
    turn();
    const allMs = Math.min(least.allMs, asThere(spentSince(began), enough.allMs));
    least = { heldMs: Math.min(least.heldMs, asThere(longest, enough.heldMs)), allMs };
  }
  return least;
}

/** Waits until the clock of the file system has moved well past the last change below `folder`: then equal stamps prove equal files. */
export async function stampsHold(folder: string): Promise<void> {
  const stamps = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => statSync(path.join(folder, name)).ctimeMs);
  const newest = Math.max(...stamps);
  await until(() => Date.now() > newest + 25);
}
