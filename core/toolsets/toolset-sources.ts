import { isBelow, type StateFolder } from '@pith/safe-files';
import fs from 'node:fs';
import path from 'node:path';
import { systemClock } from '../kernel/records/system-clock.ts';

/** What a toolset's bundle was made of when it was looked at last. */
export interface ToolsetSources {
  /** Of whose modules, made by which Pith. */
  readonly key: string;
  /** Names the bundle. */
  readonly digest: string;
  readonly watched: readonly string[];
  /** Empty where a further change could leave the same: then it is bundled again. */
  readonly stamps: string;
}

export interface Made {
  readonly key: string;
  readonly digest: string;
  /** When bundling began. */
  readonly began: number;
}

export function sourcesOf(directory: string, seen: Iterable<string>, { key, digest, began }: Made): ToolsetSources {
  const watched = placesToWatch(directory, seen);
  const stamps = stampsOf(watched);
  return { key, digest, watched, stamps: isFresh(watched, began) ? '' : stamps };
}

/** One look at each place: no folder is walked. */
export function isUnchanged({ watched, stamps }: ToolsetSources): boolean {
  return stamps !== '' && stamps === stampsOf(watched);
}

/** null: none, damaged, or of something else. */
export function readSources(folder: StateFolder, name: string, key: string): ToolsetSources | null {
  try {
    const read = JSON.parse(String(folder.read(name))) as ToolsetSources;
    return read?.key === key && typeof read.digest === 'string' && Array.isArray(read.watched) ? read : null;
  } catch {
    return null; // it is only a cache: what it would say is found out again
  }
}

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

/** Whether one of them was written so soon before that time, or since, that a further write could leave the same stamps. */
export function isFresh(places: readonly string[], since: number): boolean {
  return places.some((place) => (statOf(place)?.ctimeNs ?? 0n) + TICK_NS >= BigInt(since) * 1_000_000n);
}

export function timeNow(): number {
  return systemClock.now();
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
