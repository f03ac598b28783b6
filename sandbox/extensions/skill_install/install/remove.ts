import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, type CommandIO, PithError } from 'pith';
import { SkillLibrary, type SkillPlace, type SkillRecord } from 'pith/skill_registry';
import { printableLine } from '@pith/plain-text';
import { isBelow } from '@pith/safe-files';
import { realOf, treeDigest } from '@pith/skill-files';
import type { InstallContext } from '../install-context.ts';
import { type Installed, installedIn, placesOf, type Staging, withStaging } from './places.ts';

/** Takes a skill away that lies where skills are installed. The id is looked up, never joined to a path. Resolves with the exit code. */
export async function removeSkill(
  { id, yes }: { readonly id: string; readonly yes: boolean },
  context: InstallContext,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  const targets = await placesOf(context, io);
  const { all } = await context.use(SkillLibrary).records();
  const inTargets = all.filter((one) => one.id === id && targets.some((target) => holds(target, one)));
  const skill =
    inTargets.find(({ state }) => state === 'offered') ?? inTargets.at(-1) ?? (await named(id, { targets, context, io, signal }));
  if (skill === null) return 0;
  const target = targets.find((one) => holds(one, skill));
  if (target === undefined)
    throw new PithError(
      'skill_not_removable',
      `'${printableLine(skill.id)}' lies in ${printableLine(skill.source)}, where nothing is installed by this command`,
      {
        where: skill.directory,
        cure: skill.source.startsWith('bundled')
          ? "it comes with Pith: disable it under 'skills.disabled' in pith.yaml"
          : "remove it there by hand, or disable it under 'skills.disabled' in pith.yaml",
      },
    );
  const folder = path.relative(realOf(target.skills)!, inReal(skill));
  const entry = folder === skill.id ? ((await installedIn(context, target)).get(skill.id) ?? null) : null;
  const report = (removed: boolean) => ({ id: skill.id, removed, source: target.source, path: skill.directory, installed: entry !== null });
  const seen = await digestAt(skill);
  if (!yes && !(await agreed(skill, entry, seen, { target, io }))) {
    io.print('Nothing was removed.');
    io.json(report(false));
    return 1;
  }
  const remove = async ({ change }: Staging): Promise<number> => {
    await change([{ folder, id: entry === null ? '' : skill.id, from: null, entry: null, ...(seen === null ? {} : { expects: seen }) }]);
    io.print(`Removed ${printableLine(skill.id)} from ${target.label}.`);
    io.json(report(true));
    return 0;
  };
  return withStaging(context, target, remove, signal);
}

interface Asking {
  readonly targets: readonly SkillPlace[];
  readonly context: InstallContext;
  readonly io: CommandIO;
  readonly signal: AbortSignal;
}

/** One that lies elsewhere. null: its folder was taken away by hand, and its entry is dropped now. Throws `skill_not_found`, with the nearest names. */
async function named(id: string, { targets, context, io, signal }: Asking): Promise<SkillRecord | null> {
  try {
    return await context.use(SkillLibrary).named(id);
  } catch (error) {
    if (codeOf(error, '') !== 'skill_not_found') throw error;
    for (const target of targets) {
      if (!(await installedIn(context, target)).has(id)) continue;
      await withStaging(context, target, ({ change }) => change([{ folder: '', id, from: null, entry: null }]), signal);
      io.print(`${printableLine(id)} was gone already; its entry in ${target.lockFile} is dropped.`);
      io.json({ id, removed: true, source: target.source, path: null, installed: true });
      return null;
    }
    throw error;
  }
}

/** True for its own folder below the target's, or a link in it; what lies behind a link is somebody else's. */
function holds(target: SkillPlace, skill: SkillRecord): boolean {
  const folder = realOf(target.skills);
  if (folder === null) return false;
  const place = inReal(skill);
  return isBelow(place, folder);
}

/** The skill's folder with its parent's links followed, its own not. */
function inReal({ directory }: SkillRecord): string {
  return path.join(realOf(path.dirname(directory)) ?? path.dirname(directory), path.basename(directory));
}

/** What a person is asked about: what is written there afterwards is not removed. null for a link, which alone goes, and for what cannot be read. */
async function digestAt({ directory }: SkillRecord): Promise<string | null> {
  return (await lstat(directory)).isSymbolicLink() ? null : treeDigest(directory).catch(() => null);
}

async function agreed(
  skill: SkillRecord,
  entry: Installed | null,
  seen: string | null,
  { target, io }: { readonly target: SkillPlace; readonly io: CommandIO },
): Promise<boolean> {
  const link = (await lstat(skill.directory)).isSymbolicLink();
  const edited = entry !== null && !link && seen !== entry.digest;
  const lost = link
    ? 'It is a link; what it leads to stays.'
    : entry === null
      ? 'It was made by hand and is nowhere else.'
      : edited
        ? 'It was changed by hand since it was installed.'
        : '';
  if (io.interactive)
    return (await io.ask(`Remove '${printableLine(skill.id)}' from ${target.label}? ${lost}`.trim(), { choices: ['yes', 'no'] })) === 'yes';
  if (lost === '' || link) return true;
  throw new PithError('confirmation_needed', `'${printableLine(skill.id)}': ${lost}`, {
    where: skill.directory,
    cure: 'say --yes to remove it',
  });
}
