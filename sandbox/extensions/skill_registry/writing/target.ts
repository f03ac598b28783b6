import { existsSync, realpathSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import type { SkillPlace } from '../contract.ts';

/** Hidden, so that nothing in them is a skill: what is being written, and what a person has yet to look at. */
export const STAGING = '.staging';
export const KEPT = '.kept';

export interface Target extends SkillPlace {
  /** What was confirmed and may be cut off: where only this Pith writes, for what comes with a folder is not believed. */
  readonly journals: StateFolder;
}

/** One change of a target: what it makes lies in `directory`, on the same file system, until it is committed. */
export interface Operation {
  readonly target: Target;
  /** The real skills folder. */
  readonly skills: string;
  readonly directory: string;
}

/** Every target there is, the one that wins first. */
export function targetsAt(
  { sandbox, home }: { readonly sandbox: string; readonly home?: string | null },
  dataDirectory: string,
): readonly Target[] {
  const project = at('project', 'sandbox/skills', sandbox, stateFolder(dataDirectory, 'installs'));
  if (!home) return [project];
  const own = path.join(home, '.pith');
  return [project, at('user', '~/.pith/skills', own, stateFolder(existsSync(own) ? realpathSync(own) : own, 'installs'))];
}

/** Whether a command is at work there, was killed, or left something to look at. */
export function isUnsettled({ skills }: Target): boolean {
  return existsSync(path.join(skills, STAGING)) || existsSync(path.join(skills, KEPT));
}

/** The folder itself, made where it is absent: what is staged in it can be renamed into place. */
export async function openTarget(target: Target): Promise<string> {
  await mkdir(target.skills, { recursive: true });
  return realpath(target.skills);
}

function at(source: SkillPlace['source'], label: string, folder: string, journals: StateFolder): Target {
  return { source, label, skills: path.join(folder, 'skills'), lockFile: path.join(folder, 'skills.lock.json'), journals };
}
