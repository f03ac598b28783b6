import path from 'node:path';

/** Names of folders in which programs keep a folder `skills`: in a home folder, those that count least first. */
export const SKILL_HOMES: readonly string[] = [
  '.pith',
  '.agents',
  '.claude',
  '.cursor',
  '.codex',
  '.openclaw',
  '.kodelet',
  '.agent',
  '.pickle-bot',
];

/** The same in a project. */
export const SKILL_PROJECTS: readonly string[] = ['.cursor', '.codex', '.agent', '.kodelet', '.claude', '.agents'];

export interface SkillFolderPlaces {
  readonly sandbox: string;
  readonly project: string | null;
  readonly home: string | null;
}

/** The folders in which skills lie without any settings, by their names: whatever an agent starts must not write there. Those that are missing are among them. A folder `skills` of the project itself may hold anything: it is none of them. */
export function skillFolders({ sandbox, project, home }: SkillFolderPlaces): readonly string[] {
  const of = (root: string | null, names: readonly string[]) => (root === null ? [] : names.map((name) => path.join(root, name, 'skills')));
  return [path.join(sandbox, 'skills'), ...of(project, SKILL_PROJECTS), ...of(home, SKILL_HOMES)];
}
