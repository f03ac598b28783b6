import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { Diagnostic } from 'pith';
import { canonical, idOf } from '../scan/names.ts';
import { realOf } from '../scan/stamp.ts';
import { DEPTH_LIMIT } from '../scan/scan.ts';
import type { Source } from '../scan/sources.ts';
import type { Snapshot } from '../skill.ts';

const DEEPEST = 10;
const FOLDERS = 20_000;

/** Why something of that name in the sources is no skill; null where there is nothing of that name. For a person who asks: it looks everywhere. */
export function whyAbsent(
  sources: readonly Source[],
  { diagnostics, all }: Snapshot,
  reference: string,
): Pick<Diagnostic, 'message' | 'cure' | 'file'> | null {
  const name = canonical(reference.slice(reference.lastIndexOf('/') + 1));
  const told = diagnostics.find(({ file }) => file !== undefined && (idOf(file) === name || idOf(path.dirname(file)) === name));
  if (told !== undefined) return told;
  for (const source of [...sources].reverse()) {
    const folder = folderNamed(source.directory, name);
    if (folder === null) continue;
    const skill = all.find(({ realDirectory }) => realDirectory === realOf(folder));
    if (skill !== undefined)
      return { file: folder, message: `it is a link to a skill that is listed as '${skill.id}'`, cure: `name '${skill.id}'` };
    return { file: folder, ...reasonOf(folder.slice(source.directory.length + 1).split('/'), source) };
  }
  return null;
}

function reasonOf(way: readonly string[], { directory, label }: Source): Pick<Diagnostic, 'message' | 'cure'> {
  const hidden = way.find((part) => part.startsWith('.'));
  if (hidden !== undefined)
    return {
      message: `it lies in the hidden folder '${hidden}' of ${label}, which is not looked into`,
      cure: 'give the folder a name without a dot',
    };
  if (way.includes('node_modules'))
    return { message: `it lies in node_modules of ${label}, which is not looked into`, cure: 'copy it out of there' };
  if (skillFileIn(path.join(directory, ...way)) === null)
    return { message: `it is a link in ${label} that leads to no skill, or back to where the search came from`, cure: 'remove it' };
  const outer = way.slice(0, -1).findIndex((_, at) => skillFileIn(path.join(directory, ...way.slice(0, at + 1))) !== null);
  if (outer !== -1)
    return {
      message: `it lies inside the skill '${way[outer] ?? ''}', below which nothing is looked for`,
      cure: 'move it beside that skill',
    };
  if (way.length > DEPTH_LIMIT) return { message: `it lies more than ${DEPTH_LIMIT} folders deep in ${label}`, cure: 'move it further up' };
  return { message: `its folder in ${label} was not looked into`, cure: 'see pith skills list --all' };
}

/** The first folder of that name that holds a skill file, or link of that name; links are not followed. */
function folderNamed(root: string, name: string): string | null {
  const waiting: { readonly folder: string; readonly depth: number }[] = [{ folder: root, depth: 0 }];
  for (let at = 0; at < waiting.length && at < FOLDERS; at++) {
    const { folder, depth } = waiting[at]!;
    if (depth > 0 && idOf(folder) === name && skillFileIn(folder) !== null) return folder;
    if (depth === DEEPEST) continue;
    for (const entry of entriesOf(folder)) {
      const at = path.join(folder, entry.name);
      if (entry.isSymbolicLink() && idOf(at) === name) return at;
      if (entry.isDirectory() && entry.name !== '.git') waiting.push({ folder: at, depth: depth + 1 });
    }
  }
  return null;
}

function skillFileIn(folder: string): string | null {
  return entriesOf(folder).find(({ name }) => name.toLowerCase() === 'skill.md')?.name ?? null;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // absent or unreadable: there is nothing to tell of it
  }
}
