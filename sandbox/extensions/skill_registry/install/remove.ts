import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { type CommandContext, type CommandIO, PithError } from 'pith';
import { withRegistry } from '../commands/open-registry.ts';
import { wantedSkill } from '../commands/wanted.ts';
import { isBelow } from '@pith/safe-files';
import { findSkill } from '../scan/names.ts';
import { realOf } from '../scan/stamp.ts';
import { treeDigest } from '../tree/folder-tree.ts';
import type { Skill } from '../skill.ts';
import { commit, exists } from './commit.ts';
import { type LockEntry, readLock } from './lock-file.ts';
import { changeAlone, type Operation } from './operation.ts';
import { type Target, targetsOf } from './target.ts';

/** Takes a skill away that lies where skills are installed. The id is looked up, never joined to a path. Resolves with the exit code. */
export async function removeSkill(
  { id, yes }: { readonly id: string; readonly yes: boolean },
  context: CommandContext,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  const targets = targetsOf(context, io);
  const skill = await withRegistry(context, (_, snapshot) => {
    const inTargets = snapshot.all.filter((one) => one.id === id && targets.some((target) => holds(target, one)));
    return inTargets.find(({ state }) => state === 'offered') ?? inTargets.at(-1) ?? findSkill(snapshot, id) ?? null;
  });
  if (skill === null) return forget(id, targets, context, io, signal);
  const target = targets.find((one) => holds(one, skill));
  if (target === undefined)
    throw new PithError('skill_not_removable', `'${skill.id}' lies in ${skill.source}, where nothing is installed by this command`, {
      where: skill.directory,
      cure: "remove it there by hand, or disable it under 'skills.disabled' in pith.yaml",
    });
  const folder = path.relative(realOf(target.skills)!, inReal(skill));
  const entry = folder === skill.id ? ((await readLock(target.lockFile)).get(skill.id) ?? null) : null;
  const report = (removed: boolean) => ({ id: skill.id, removed, source: target.source, path: skill.directory, installed: entry !== null });
  if (!yes && !(await agreed(skill, entry, target, io))) {
    io.print('Nothing was removed.');
    io.json(report(false));
    return 1;
  }
  const remove = async (operation: Operation): Promise<number> => {
    if (!(await exists(path.join(operation.skills, folder))))
      throw new PithError('skill_not_found', `'${skill.id}' is gone already`, {
        where: skill.directory,
        cure: 'see pith skills list --all',
      });
    await commit(operation, [{ folder, id: entry === null ? '' : skill.id, from: null, entry: null }]);
    io.print(`Removed ${skill.id} from ${target.label}.`);
    io.json(report(true));
    return 0;
  };
  return changeAlone(target, context.clock, remove, signal);
}

/** Drops the entry of a skill whose folder somebody took away by hand. Throws `skill_not_found` where there is none. */
async function forget(
  id: string,
  targets: readonly Target[],
  context: CommandContext,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  for (const target of targets) {
    if (!(await readLock(target.lockFile)).has(id)) continue;
    const change = { folder: '', id, from: null, entry: null };
    await changeAlone(target, context.clock, (operation) => commit(operation, [change]), signal);
    io.print(`${id} was gone already; its entry in ${target.lockFile} is dropped.`);
    io.json({ id, removed: true, source: target.source, path: null, installed: true });
    return 0;
  }
  return withRegistry(context, async (registry, snapshot) => {
    await wantedSkill(registry, snapshot, id); // throws, with the nearest names
    return 1;
  });
}

/** True for a folder of its own below the target's, or a link in it; what lies behind a link is somebody else's. */
function holds(target: Target, skill: Skill): boolean {
  const folder = realOf(target.skills);
  if (folder === null) return false;
  const place = inReal(skill);
  return isBelow(place, folder);
}

/** The skill's folder with its parent's links followed, its own not. */
function inReal({ directory }: Skill): string {
  return path.join(realOf(path.dirname(directory)) ?? path.dirname(directory), path.basename(directory));
}

async function agreed(skill: Skill, entry: LockEntry | null, target: Target, io: CommandIO): Promise<boolean> {
  const link = (await lstat(skill.directory)).isSymbolicLink();
  const edited = entry !== null && !link && (await treeDigest(skill.directory)) !== entry.digest;
  const lost = link
    ? 'It is a link; what it leads to stays.'
    : entry === null
      ? 'It was made by hand and is nowhere else.'
      : edited
        ? 'It was changed by hand since it was installed.'
        : '';
  if (io.interactive)
    return (await io.ask(`Remove '${skill.id}' from ${target.label}? ${lost}`.trim(), { choices: ['yes', 'no'] })) === 'yes';
  if (lost === '' || link) return true;
  throw new PithError('confirmation_needed', `'${skill.id}': ${lost}`, { where: skill.directory, cure: 'say --yes to remove it' });
}
