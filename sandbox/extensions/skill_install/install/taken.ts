import path from 'node:path';
import { PithError } from 'pith';
import type { SkillPlace } from 'pith/skill_registry';
import { printableLine } from '@pith/plain-text';
import { namesIn } from '@pith/safe-files';
import type { InstallContext } from '../install-context.ts';
import { folded } from './entry.ts';
import { installedIn } from './places.ts';
import { isMarked } from './plugin-mark.ts';
import { folderOf, pluginOf } from './skill-id.ts';

/** Says of an id what is in its place; null where nothing does, or where it may be replaced. */
export async function takenIn(
  context: InstallContext,
  place: SkillPlace,
  force: boolean,
): Promise<(id: string) => Promise<PithError | null>> {
  const installed = await installedIn(context, place);
  const listings = new Map<string, ReadonlyMap<string, string>>();
  const inside = (folder: string, name: string): string | undefined => {
    const names = listings.get(folder) ?? new Map(namesIn(folder).map((one) => [folded(one), one]));
    listings.set(folder, names);
    return names.get(folded(name));
  };
  const exists = (name: string, cure: string) =>
    new PithError('skill_exists', `${place.label} has '${printableLine(name)}' already`, { where: path.join(place.skills, name), cure });
  return async (id) => {
    const plugin = pluginOf(id);
    const above = inside(place.skills, plugin ?? id);
    if (above === undefined) return null;
    const marked = await isMarked(path.join(place.skills, above));
    if (plugin === null) {
      if (above === id && !marked) return force ? null : exists(id, cureOf(id, installed.has(id)));
      return exists(above, 'rename one of them');
    }
    if (above !== plugin || !marked) return exists(above, `rename it: the plugin '${printableLine(plugin)}' needs that folder`);
    const name = path.basename(folderOf(id));
    const below = inside(path.join(place.skills, plugin), name);
    if (below === undefined || (force && below === name)) return null;
    return exists(path.join(plugin, below), below === name ? cureOf(id, installed.has(id)) : 'rename one of them');
  };
}

function cureOf(id: string, installed: boolean): string {
  if (installed) return `bring it up to date with pith skills update ${id}, or replace it with --force`;
  return 'it was made by hand: rename it to keep it, or replace it with --force';
}
