import { readFileSync } from 'node:fs';
import { lstat, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isNothingThere } from '@pith/safe-files';
import type { SkillChange } from 'pith/skill_registry';
import type { Staging } from './places.ts';
import { pluginOf } from './skill-id.ts';

/** What makes a folder of skills a plugin's, for whoever reads skills. */
const MARK = '.claude-plugin';

/** Whether the folder is a plugin's. */
export async function isMarked(folder: string): Promise<boolean> {
  try {
    return (await lstat(path.join(folder, MARK))).isDirectory();
  } catch (error) {
    if (isNothingThere(error)) return false;
    throw error;
  }
}

/** What makes the folders of these skills' plugins such, where they are new. */
export async function marksFor({ place, directory }: Staging, changes: readonly SkillChange[]): Promise<readonly SkillChange[]> {
  const marks: SkillChange[] = [];
  for (const plugin of new Set(changes.flatMap(({ id }) => pluginOf(id) ?? [])))
    if (!(await isMarked(path.join(place.skills, plugin)))) marks.push(await markChange(plugin, directory));
  return marks;
}

async function markChange(plugin: string, directory: string): Promise<SkillChange> {
  const from = path.join('marks', plugin);
  await mkdir(path.join(directory, from), { recursive: true });
  await writeFile(path.join(directory, from, 'plugin.json'), textOf(plugin));
  return { folder: path.join(plugin, MARK), id: '', from, entry: null };
}

/** Takes away what `marksFor` had put in `folder`; null where somebody else wrote what is there. */
export function unmarkChange(plugin: string, folder: string): SkillChange | null {
  try {
    if (readFileSync(path.join(folder, MARK, 'plugin.json'), 'utf8') !== textOf(plugin)) return null;
  } catch {
    return null; // there is none, or none that can be read
  }
  return { folder: path.join(plugin, MARK), id: '', from: null, entry: null };
}

function textOf(plugin: string): string {
  return `${JSON.stringify({ name: plugin }, null, 2)}\n`;
}
