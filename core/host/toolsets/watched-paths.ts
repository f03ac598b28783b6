import fs from 'node:fs';
import path from 'node:path';
import { isBelow } from '../../contract/paths.ts';
import { systemClock } from '../system-clock.ts';

/** Coarsest step in which file times advance, with room to spare. */
const TICK_NS = 20_000_000n;

/** Where a change may make another bundle: what was read, what was looked for, and the folders in which it lies. Sorted. */
export function placesToWatch(home: string, seen: Iterable<string>): readonly string[] {
  const places = new Set<string>();
  for (const file of seen) {
    if (!isBelow(file, home)) continue; // what is outside is not for it to know
    places.add(file);
    let folder = path.dirname(file);
    while (folder !== home && !fs.existsSync(folder)) folder = path.dirname(folder);
    places.add(folder);
  }
  return [...places].sort();
}

/** Tells one state of these places from another without reading them: equal texts mean that nothing has changed. */
export function stampsOf(places: readonly string[]): string {
  return JSON.stringify(places.map((place) => textOf(statOf(place))));
}

/** Whether one of them was written so shortly before that time, or since, that a further write could leave the same stamps. */
export function isFresh(places: readonly string[], since: number): boolean {
  return places.some((place) => (statOf(place)?.ctimeNs ?? 0n) + TICK_NS >= BigInt(since) * 1_000_000n);
}

export function timeNow(): number {
  return systemClock().now();
}

function statOf(place: string): fs.BigIntStats | undefined {
  try {
    return fs.lstatSync(place, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // unreadable: nothing can be imported from it
  }
}

function textOf(stat: fs.BigIntStats | undefined): string {
  return stat === undefined ? '' : `${stat.mode} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.size} ${stat.ino}`;
}
