import type { ActingUser } from '@pith/command-line';
import { isInside } from '@pith/safe-files';
import type { SkillRegistry } from '../registry.ts';
import type { Skill, Snapshot } from '../skill.ts';

/** Without the drafts that agents wrote for other people. An administrator, who accepts them, sees all. */
export function shownTo(
  { userId, asAdmin = true }: ActingUser,
  { drafts, sources }: Pick<SkillRegistry, 'drafts' | 'sources'>,
  snapshot: Snapshot,
): Snapshot {
  if (asAdmin) return snapshot;
  const isShown = ({ state, id }: Skill) => state !== 'draft' || drafts.records.of(id)?.userId === userId;
  const folders = sources.flatMap(({ holdsDrafts, directory }) => (holdsDrafts === true ? [directory] : []));
  const skills = new Map([...snapshot.skills].filter(([, skill]) => isShown(skill)));
  return {
    ...snapshot,
    skills,
    all: snapshot.all.filter(isShown),
    aliases: new Map([...snapshot.aliases].filter(([, id]) => skills.has(id))),
    diagnostics: snapshot.diagnostics.filter(({ file }) => file === undefined || !folders.some((folder) => isInside(file, folder))),
  };
}
