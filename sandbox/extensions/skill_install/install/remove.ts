import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, type CommandIO, PithError } from 'pith';
import { type SkillChange, SkillLibrary, type SkillPlace, type SkillRecord } from 'pith/skill_registry';
import { counted, printableLine } from '@pith/plain-text';
import { isBelow } from '@pith/safe-files';
import { realOf, treeDigest } from '@pith/skill-files';
import type { InstallContext, Running } from '../install-context.ts';
import { type Installed, installedIn, placesOf, type Staging, withStaging } from './places.ts';
import { unmarkChange } from './plugin-mark.ts';
import { folderOf, idsMeant, pluginOf } from './skill-id.ts';

/** Takes a skill away that lies where skills are installed, or all of a plugin's. The id is looked up, never joined to a path. Resolves with the exit code. */
export async function removeSkills(
  { id, yes }: { readonly id: string; readonly yes: boolean },
  context: InstallContext,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  const targets = await placesOf(context, io);
  const { all } = await context.use(SkillLibrary).records();
  const held = all.filter((skill) => targets.some((target) => holds(target, skill)));
  const ids = idsMeant(id, new Set(held.map((skill) => skill.id)));
  const inTargets = held.filter((skill) => ids.includes(skill.id));
  const first =
    inTargets.find(({ state }) => state === 'offered') ?? inTargets.at(-1) ?? (await named(id, targets, { context, io, signal }));
  if (first === null) return 0;
  const target = targets.find((one) => holds(one, first));
  if (target === undefined) throw elsewhere(first);
  const isPlugin = pluginOf(first.id) === id;
  const entries = await installedIn(context, target);
  const chosen = isPlugin ? inTargets.filter((skill) => holds(target, skill)) : [first];
  const doomed = await Promise.all(chosen.map((skill) => doomedOf(skill, target, entries)));
  const installed = doomed.every(({ entry }) => entry !== null);
  const report = (removed: boolean) => ({
    id: isPlugin ? id : first.id,
    removed,
    source: target.source,
    path: isPlugin ? path.join(target.skills, id) : first.directory,
    installed,
    ...(isPlugin ? { skills: doomed.map(({ skill }) => skill.id) } : {}),
  });
  const what = isPlugin ? `${counted(doomed.length, 'skill')} of the plugin '${printableLine(id)}'` : `'${printableLine(first.id)}'`;
  if (!yes && !(await agreed(what, doomed, { target, io }))) {
    io.print('Nothing was removed.');
    io.json(report(false));
    return 1;
  }
  const changes = doomed.map(({ skill, folder, entry, seen }): SkillChange => ({
    folder,
    id: entry === null ? '' : skill.id,
    from: null,
    entry: null,
    ...(seen === null ? {} : { expects: seen }),
  }));
  const plugin = pluginOf(first.id);
  const isEmptied =
    plugin !== null && held.every((skill) => pluginOf(skill.id) !== plugin || !holds(target, skill) || chosen.includes(skill));
  const unmark = isEmptied ? unmarkChange(plugin, path.join(target.skills, plugin)) : null;
  const remove = async ({ change }: Staging): Promise<number> => {
    await change(unmark === null ? changes : [...changes, unmark], { how: 'remove', by: 'person' });
    io.print(`Removed ${isPlugin ? what : printableLine(first.id)} from ${target.label}.`);
    io.json(report(true));
    return 0;
  };
  return withStaging(context, target, remove, signal);
}

function elsewhere(skill: SkillRecord): PithError {
  return new PithError(
    'skill_not_removable',
    `'${printableLine(skill.id)}' lies in ${printableLine(skill.source)}, where nothing is installed by this command`,
    {
      where: skill.directory,
      cure: skill.source.startsWith('bundled')
        ? "it comes with Pith: disable it under 'skills.disabled' in pith.yaml"
        : "remove it there by hand, or disable it under 'skills.disabled' in pith.yaml",
    },
  );
}

/** A skill that is to go. */
interface Doomed {
  readonly skill: SkillRecord;
  /** Relative to the place's. */
  readonly folder: string;
  /** null: it was made by hand. */
  readonly entry: Installed | null;
  /** The digest of what a person is asked about: what is written there afterwards is not removed. null for a link, which alone goes, and for what cannot be read. */
  readonly seen: string | null;
  /** What a person should know before; empty: nothing. */
  readonly lost: string;
  /** What is lost is nowhere else. */
  readonly isOnly: boolean;
}

async function doomedOf(skill: SkillRecord, target: SkillPlace, entries: ReadonlyMap<string, Installed>): Promise<Doomed> {
  const folder = path.relative(realOf(target.skills)!, inReal(skill));
  const entry = folder === folderOf(skill.id) ? (entries.get(skill.id) ?? null) : null;
  const link = (await lstat(skill.directory)).isSymbolicLink();
  const seen = link ? null : await treeDigest(skill.directory).catch(() => null); // it cannot be read
  const edited = entry !== null && !link && seen !== entry.digest;
  const lost = link
    ? 'It is a link; what it leads to stays.'
    : entry === null
      ? 'It was made by hand and is nowhere else.'
      : edited
        ? 'It was changed by hand since it was installed.'
        : '';
  return { skill, folder, entry, seen, lost, isOnly: lost !== '' && !link };
}

/** One that lies elsewhere. null: its folder was taken away by hand, and its entry is dropped now. Throws `skill_not_found`, with the nearest names. */
async function named(id: string, targets: readonly SkillPlace[], { context, io, signal }: Running): Promise<SkillRecord | null> {
  try {
    return await context.use(SkillLibrary).named(id);
  } catch (error) {
    if (codeOf(error, '') !== 'skill_not_found') throw error;
    for (const target of targets) {
      const ids = idsMeant(id, (await installedIn(context, target)).keys());
      if (ids.length === 0) continue;
      const changes = ids.map((one) => ({ folder: '', id: one, from: null, entry: null }));
      await withStaging(context, target, ({ change }) => change(changes, { how: 'remove', by: 'person' }), signal);
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

async function agreed(
  what: string,
  doomed: readonly Doomed[],
  { target, io }: { readonly target: SkillPlace; readonly io: CommandIO },
): Promise<boolean> {
  const losses = doomed
    .filter(({ lost }) => lost !== '')
    .map(({ skill, lost }) => (doomed.length === 1 ? lost : `'${printableLine(skill.id)}': ${lost}`));
  if (io.interactive)
    return (await io.ask([`Remove ${what} from ${target.label}?`, ...losses].join(' '), { choices: ['yes', 'no'] })) === 'yes';
  const only = doomed.find(({ isOnly }) => isOnly);
  if (only === undefined) return true;
  throw new PithError('confirmation_needed', `'${printableLine(only.skill.id)}': ${only.lost}`, {
    where: only.skill.directory,
    cure: 'say --yes to remove it',
  });
}
