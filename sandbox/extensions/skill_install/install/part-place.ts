import { lstat, readFile } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, messageOf, PithError, Places } from 'pith';
import type { SkillPlace } from 'pith/skill_registry';
import { FileRefused, Jail, systemCure } from '@pith/safe-files';
import type { InstallContext } from '../install-context.ts';
import { namesOf, type PluginPart } from './plugin-parts.ts';
import type { StagedItem } from './staged-skill.ts';

/** Where recipes and agents of plugins are put: in the sandbox, and never in the place of what is there, ships, or is the person's own. */
export interface PartPlace {
  fileOf(item: Pick<StagedItem, 'kind' | 'id'>): string;
  /** Why it cannot be put in place; null where it can. */
  taken(part: PluginPart): Promise<PithError | null>;
  /** The error where somebody was quicker; null when it is in place. */
  put(item: StagedItem): Promise<PithError | null>;
}

export function partPlace(context: InstallContext, { source }: SkillPlace): PartPlace {
  const { sandbox, shippedSandbox, home } = context.use(Places);
  const names = (item: Pick<StagedItem, 'kind' | 'id'>) => namesOf({ kind: item.kind === 'agent' ? 'agent' : 'recipe', id: item.id });
  const fileOf = (item: Pick<StagedItem, 'kind' | 'id'>) => path.join(sandbox, ...names(item));
  const exists = (kind: StagedItem['kind'], place: string) =>
    new PithError('target_exists', `${kind === 'agent' ? 'an agent' : 'a recipe'} of that name exists already`, {
      where: place,
      cure: 'to have both, rename the file in the plugin and install from your copy',
    });
  /** Everything by whose name it would be known, the sandbox first. */
  const others = ({ kind, id }: PluginPart): readonly (readonly [folder: string, names: readonly string[]])[] => {
    const files =
      kind === 'recipe'
        ? [namesOf({ kind, id })]
        : [
            ['agents', id, 'AGENT.md'],
            ['agents', id, 'manifest.yaml'],
          ];
    const folders = [sandbox, shippedSandbox, ...(home === null ? [] : [path.join(home, '.pith')])];
    return folders.flatMap((folder) => files.map((file) => [folder, file] as const));
  };
  return {
    fileOf,
    async taken(part) {
      if (source !== 'project')
        return new PithError('usage', `${part.kind === 'agent' ? 'an agent' : 'a recipe'} belongs to a project`, {
          cure: 'install it with --source project',
        });
      try {
        for (const [folder, file] of others(part)) if (await isThere(folder, file)) return exists(part.kind, path.join(folder, ...file));
        return null;
      } catch (error) {
        return unusable(error);
      }
    },
    async put(item) {
      try {
        const bytes = await readFile(path.join(item.directory, names(item).at(-1)!));
        const staged = await new Jail(sandbox).stage(names(item), bytes);
        staged.commit({ replace: false });
        return null;
      } catch (error) {
        return codeOf(error, '') === 'target_exists' ? exists(item.kind, fileOf(item)) : unusable(error);
      }
    },
  };
}

/** Links are followed, as by those who read such folders. */
async function isThere(folder: string, names: readonly string[]): Promise<boolean> {
  try {
    await lstat(path.join(folder, ...names));
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error, ''))) return false;
    throw error;
  }
}

/** A folder that is a link or a file, or that nobody may write. Throws what is no fault of the place. */
function unusable(error: unknown): PithError {
  if (!(error instanceof FileRefused) && !OF_THE_PLACE.includes(codeOf(error, ''))) throw error;
  return new PithError('place_unusable', `it cannot be written: ${messageOf(error)}`, {
    cause: error,
    cure: systemCure(error, 'the folder') ?? 'make the folder one that you may write, and no link',
  });
}

const OF_THE_PLACE = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT'];
