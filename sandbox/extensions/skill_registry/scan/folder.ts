import { readdirSync, realpathSync } from 'node:fs';
import type { FoundDirectory, FoundSkill } from './found.ts';

const SKIPPED: ReadonlySet<string> = new Set(['node_modules']);

/** The entries of a folder that a scan looks at. Throws what the file system says. */
export function readFolder(path: string): Omit<FoundDirectory, 'stamp' | 'settled'> {
  const children: string[] = [];
  const links: string[] = [];
  const skillFiles: string[] = [];
  let hasFiles = false;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const { name } = entry;
    if (name.startsWith('.') || SKIPPED.has(name)) continue;
    if (entry.isDirectory()) children.push(name);
    else {
      hasFiles = true;
      if (entry.isSymbolicLink()) links.push(name);
      if (name.toLowerCase() === 'skill.md') skillFiles.push(name);
    }
  }
  // The stack takes the last first; sorted, so that every machine finds the same order.
  children.sort((a, b) => (a < b ? 1 : -1));
  links.sort();
  skillFiles.sort();
  return { children, links: links.filter((name) => !skillFiles.includes(name)), oddFile: skillFiles[0] ?? null, hasFiles };
}

/** Whether two looks at a folder found the same entries. */
export function holdsTheSame(a: FoundDirectory, b: Omit<FoundDirectory, 'stamp' | 'settled'>): boolean {
  return a.oddFile === b.oddFile && a.hasFiles === b.hasFiles && isEqual(a.children, b.children) && isEqual(a.links, b.links);
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}

/** The path without links; null where there is nothing or the links form a loop. */
export function realOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null; // nothing there, or a loop of links
  }
}

/** The folders that hold files and have no skill below them. */
export function emptyFolders(skills: ReadonlyMap<string, FoundSkill>, directories: ReadonlyMap<string, FoundDirectory>): string[] {
  const occupied = new Set<string>();
  for (const directory of skills.keys()) {
    for (let up = directory.lastIndexOf('/'); up > 0; up = directory.lastIndexOf('/', up - 1)) {
      const parent = directory.slice(0, up);
      if (occupied.has(parent)) break;
      occupied.add(parent);
    }
  }
  return [...directories].filter(([path, folder]) => folder.hasFiles && !occupied.has(path)).map(([path]) => path);
}
