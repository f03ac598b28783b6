import { lstatSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { codeOf } from 'pith';

/** Missing files that a command could create, at the root of a project, with the content that acts like their absence; null: a folder. */
const CONTENTS: ReadonlyMap<string, string | null> = new Map([
  ['AGENTS.md', ''],
  ['CLAUDE.md', ''],
  ['.env', ''],
  ['.envrc', ''],
  ['.mcp.json', '{}\n'],
  ['.vscode', null],
]);

export const PLACEHOLDERS: readonly string[] = [...CONTENTS.keys()];

export function isThere(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false }) !== undefined;
}

/** Whether it says no more than a file that is not there. */
export function isPlaceholder(root: string, name: string): boolean {
  const text = CONTENTS.get(name);
  if (text === undefined || text === null) return false;
  const at = path.join(root, name);
  const stats = lstatSync(at, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.size === text.length && readFileSync(at, 'utf8') === text;
}

export function makePlaceholder(root: string, name: string): void {
  const [at, text] = [path.join(root, name), CONTENTS.get(name) ?? null];
  try {
    if (text === null) mkdirSync(at);
    else writeFileSync(at, text, { flag: 'wx' });
  } catch (error) {
    if (codeOf(error, '') !== 'EEXIST') throw error;
  }
}

/** What a person has written meanwhile stays. */
export function removePlaceholder(root: string, name: string): void {
  try {
    if (CONTENTS.get(name) === null) rmdirSync(path.join(root, name));
    else if (isPlaceholder(root, name)) rmSync(path.join(root, name));
  } catch {
    // it is gone, or holds something now
  }
}
