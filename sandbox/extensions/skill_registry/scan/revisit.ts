import { setImmediate as breathe } from 'node:timers/promises';
import { holdsTheSame, readFolder, realOf } from './folder.ts';
import type { FoundDirectory, FoundSkill, SourceScan } from './found.ts';
import { RowMap } from './row-map.ts';
import type { SkillReader } from './skill-reader.ts';
import type { Source } from './sources.ts';
import { isSame, isSettled, stampOf, statOf } from './stamp.ts';

/** Stats between two yields: about 3 ms. */
const SLICE = 600;
const READ_COST = 8;

/**
 * Looks again at folders of an earlier scan: one stat each, and a read of what changed. Returns `previous` itself where nothing did, and
 * null where more changed than the text of skill files: then only a whole scan tells what is there.
 */
export async function revisit(previous: SourceScan, paths: Iterable<string>, reader: SkillReader): Promise<SourceScan | null> {
  const skills = new Map<string, FoundSkill>();
  const directories = new Map<string, FoundDirectory>();
  const [root] = previous.directories.keys();
  let spent = 0;
  for (const path of paths) {
    if (++spent > SLICE) {
      spent = 0;
      await breathe();
    }
    const folder = previous.directories.get(path);
    const skill = previous.skills.get(path);
    if (folder !== undefined) {
      const now = lookAgain(path, folder, path === root, reader.now);
      if (now === null) return null;
      if (now !== folder) directories.set(path, now);
      noteRecent(previous, path, now.settled);
    } else if (skill !== undefined) {
      const file = skill.file;
      if (!file.endsWith('/SKILL.md') && statOf(`${path}/SKILL.md`) !== undefined) return null;
      const stats = statOf(file);
      if (stats === undefined || stats.isDirectory()) return null;
      const place = { path, real: skill.realDirectory, file, stats };
      if (reader.isKnown(place, skill)) continue;
      spent += READ_COST;
      const found = await reader.read(place, skill);
      if (found !== skill) skills.set(path, found);
      noteRecent(previous, path, found.settled);
    }
  }
  if (skills.size === 0 && directories.size === 0) return previous;
  return {
    ...previous,
    skills: replaced(previous.skills, skills),
    directories: replaced(previous.directories, directories),
    read: [...skills.values()],
    revisited: true,
  };
}

export function hasLinks({ directories }: SourceScan): boolean {
  for (const { links } of directories.values()) if (links.length > 0) return true;
  return false;
}

/** False when the way to the source leads elsewhere than at its last scan. */
export function isWhereItWas({ directory }: Source, { skills, directories }: SourceScan): boolean {
  if (!directories.has(directory)) return false;
  const real = realOf(directory);
  for (const skill of skills.values()) return skill.realDirectory === `${real}${skill.directory.slice(directory.length)}`;
  return true;
}

/** null where the folder holds other entries than before, or cannot be read. */
function lookAgain(path: string, before: FoundDirectory, isRoot: boolean, now: () => number): FoundDirectory | null {
  const stats = statOf(path);
  if (stats === undefined) return null;
  if (before.oddFile !== null && !isRoot && statOf(`${path}/${before.oddFile}`)?.isFile() === true) return null;
  const same = isSame(before.stamp, stats);
  if (same && before.settled) return before;
  try {
    if (!holdsTheSame(before, readFolder(path))) return null;
  } catch {
    return null; // the whole scan says why it cannot be read
  }
  const stamp = stampOf(stats);
  const settled = isSettled(stamp, now());
  if (!same) return { ...before, stamp, settled };
  before.settled = settled;
  return before;
}

function noteRecent({ recent }: SourceScan, path: string, settled: boolean): void {
  if (settled) recent.delete(path);
  else recent.add(path);
}

function replaced<V>(rows: ReadonlyMap<string, V>, now: ReadonlyMap<string, V>): ReadonlyMap<string, V> {
  if (now.size === 0) return rows;
  return (rows instanceof RowMap ? (rows as RowMap<V>) : RowMap.of(rows)).with(now);
}
