import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { systemCure } from '@pith/safe-files';
import { treeDigest } from '@pith/skill-files';
import { codeOf, type CommandIO, PithError, Places } from 'pith';
import { type InstalledSkill, type SkillChange, type SkillNote, type SkillPlace, SkillWriter } from 'pith/skill_registry';
import type { InstallContext } from '../install-context.ts';
import { checkOrigin, type Origin } from './origin.ts';
import { isInstallableId } from './skill-id.ts';

/** What was installed, and where from. */
export interface Installed extends InstalledSkill {
  readonly origin: Origin;
}

/** Every place where skills are installed, the one that wins first. Throws `usage` for what ships with Pith, unless somebody works on that. */
export async function placesOf(context: InstallContext, io: Pick<CommandIO, 'workingDirectory'>): Promise<readonly SkillPlace[]> {
  const { sandbox, shippedSandbox } = context.use(Places);
  if (sandbox === shippedSandbox && path.relative(path.dirname(sandbox), io.workingDirectory).startsWith('..'))
    throw new PithError('usage', `there is no sandbox here or above, and ${sandbox} came with Pith`, {
      cure: 'make one with: pith init, or name one with --sandbox',
    });
  return context.use(SkillWriter).places();
}

/** One of them. Throws `usage` for another word, and where no home folder is known. */
export async function placeOf(context: InstallContext, source: string, io: Pick<CommandIO, 'workingDirectory'>): Promise<SkillPlace> {
  const places = source === 'project' ? await placesOf(context, io) : await context.use(SkillWriter).places();
  const place = places.find((one) => one.source === source);
  if (place !== undefined) return place;
  if (source === 'user') throw new PithError('usage', 'no home folder is known', { cure: 'install with --source project' });
  throw new PithError('usage', `--source '${source}' is not known`, { cure: "write 'project' or 'user'" });
}

/** By id. The lock file comes with the project, and so from whoever wrote that: throws `lock_damaged` for what no Pith writes. */
export async function installedIn(context: InstallContext, { source, lockFile }: SkillPlace): Promise<ReadonlyMap<string, Installed>> {
  const found = new Map<string, Installed>();
  for (const { id, ...entry } of await context.use(SkillWriter).installed(source)) {
    try {
      found.set(id, checked(id, entry));
    } catch (error) {
      throw new PithError('lock_damaged', `the lock file cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
        where: lockFile,
        cure: 'repair it, restore it from version control, or move it away; skills without an entry count as made by hand',
      });
    }
  }
  return found;
}

function checked(id: string, entry: InstalledSkill): Installed {
  const { kind, location, ref, path: folder } = entry.origin;
  if (kind !== 'folder' && kind !== 'git' && kind !== 'zip') throw new TypeError(`its entry '${id}' is incomplete`);
  if (!isInstallableId(id)) throw new TypeError(`its entry ${JSON.stringify(id)} is not a name of a folder`);
  if (folder !== undefined && (folder.startsWith('/') || folder.split(/[\\/]/).includes('..')))
    throw new TypeError(`its entry '${id}' has a path that leads out of its origin`);
  checkOrigin({ kind, location, ...(ref === undefined ? {} : { ref }) });
  return { ...entry, origin: { ...entry.origin, kind } };
}

/** Changes of one place that are prepared in their own folder. */
export interface Staging {
  readonly place: SkillPlace;
  /** It is gone afterwards. */
  readonly directory: string;
  /** All of them or none. */
  change(changes: readonly SkillChange[], note: SkillNote): Promise<void>;
}

export async function withStaging<T>(
  context: InstallContext,
  place: SkillPlace,
  work: (staging: Staging) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const writer = context.use(SkillWriter);
  try {
    const directory = await writer.stage(place.source, signal);
    try {
      return await work({ place, directory, change: (changes, note) => writer.change(directory, changes, note) });
    } finally {
      await writer.unstage(directory);
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw ofTheDisk(error, place.skills) ?? error;
  }
}

/** What only room on the disk, or leave to write, can cure; null for other errors. A full disk names no file, so the folder is said. */
function ofTheDisk(error: unknown, skills: string): PithError | null {
  const code = codeOf(error, '');
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  if (!isFull && code !== 'EROFS') return null;
  return new PithError(isFull ? 'disk_full' : 'disk_read_only', `cannot write to ${skills}: its disk is ${isFull ? 'full' : 'read-only'}`, {
    cause: error,
    cure: `${systemCure(error, skills)}, and try again${isFull ? '; what was begun and not confirmed is removed' : ''}`,
  });
}

/** null where there is nothing. */
export async function digestOf(folder: string): Promise<string | null> {
  try {
    await lstat(folder);
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT' || codeOf(error, '') === 'ENOTDIR') return null;
    throw new PithError('install_failed', `cannot look at ${folder}`, { cause: error });
  }
  return treeDigest(folder);
}
