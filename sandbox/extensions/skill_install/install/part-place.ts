import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, PithError, Places } from 'pith';
import type { SkillPlace } from 'pith/skill_registry';
import { Jail } from '@pith/safe-files';
import type { InstallContext } from '../install-context.ts';
import { namesOf, type PluginPart } from './plugin-parts.ts';
import type { StagedItem } from './staged-skill.ts';

/** Where recipes and agents of plugins are put: in the sandbox, and never over what stands there. */
export interface PartPlace {
  fileOf(item: Pick<StagedItem, 'kind' | 'id'>): string;
  /** Why it cannot be put in place; null where it can. */
  taken(part: PluginPart): Promise<PithError | null>;
  /** The error where somebody was quicker; null when it is in place. */
  put(item: StagedItem): Promise<PithError | null>;
}

export function partPlace(context: InstallContext, { source }: SkillPlace): PartPlace {
  const { sandbox } = context.use(Places);
  const names = (item: Pick<StagedItem, 'kind' | 'id'>) => namesOf({ kind: item.kind === 'agent' ? 'agent' : 'recipe', id: item.id });
  const fileOf = (item: Pick<StagedItem, 'kind' | 'id'>) => path.join(sandbox, ...names(item));
  const exists = (item: Pick<StagedItem, 'kind' | 'id'>) =>
    new PithError('target_exists', `there is one of that name already`, { where: fileOf(item), cure: 'rename yours to take this one' });
  return {
    fileOf,
    async taken(part) {
      if (source !== 'project')
        return new PithError('usage', `${part.kind === 'agent' ? 'an agent' : 'a recipe'} belongs to a project`, {
          cure: 'install it with --source project',
        });
      const folder = part.kind === 'agent' ? names(part).slice(0, -1) : names(part);
      return (await new Jail(sandbox).stat(folder)) === null ? null : exists(part);
    },
    async put(item) {
      const bytes = await readFile(path.join(item.directory, names(item).at(-1)!));
      const staged = await new Jail(sandbox).stage(names(item), bytes);
      try {
        staged.commit({ replace: false });
        return null;
      } catch (error) {
        if (codeOf(error, '') === 'target_exists') return exists(item);
        throw error;
      }
    },
  };
}
