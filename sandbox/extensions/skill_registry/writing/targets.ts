import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { type Clock, type Diagnostic, messageOf } from 'pith';
import { ChangeRefused, FolderChanges, type Refusals } from '@pith/folder-changes';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { treeDigest } from '@pith/skill-files';
import type { InstalledSkill, SkillChange, SkillNote, SkillPlace } from '../contract.ts';

export interface Target {
  readonly place: SkillPlace;
  readonly folders: FolderChanges<InstalledSkill>;
}

/** Changes that are about to be made. */
export interface StagedChanges {
  /** The staging folder. */
  readonly directory: string;
  readonly changes: readonly SkillChange[];
  readonly note: SkillNote;
}

/** Every folder into which skills are written, the one that wins first. `counted`: as `FolderChangesOptions` has it, with the label of the place. */
export function targetsAt(
  { sandbox, home }: { readonly sandbox: string; readonly home?: string | null },
  dataDirectory: string,
  clock: Clock,
  counted: (label: string, folders: readonly string[]) => Promise<void>,
): readonly Target[] {
  const at = (source: SkillPlace['source'], label: string, above: string, journals: StateFolder): Target => {
    const place = { source, label, skills: path.join(above, 'skills'), lockFile: path.join(above, 'skills.lock.json') };
    const entries = { file: place.lockFile, name: 'skills', entryOf };
    const [folder, refusals] = [place.skills, refusalsOf(label)];
    const options = { folder, entries, journals, digestOf: treeDigest, refusals, clock };
    return { place, folders: new FolderChanges({ ...options, counted: (folders) => counted(label, folders) }) };
  };
  const project = at('project', 'sandbox/skills', sandbox, stateFolder(dataDirectory, 'installs'));
  if (!home) return [project];
  const own = path.join(home, '.pith');
  return [project, at('user', '~/.pith/skills', own, stateFolder(existsSync(own) ? realpathSync(own) : own, 'installs'))];
}

/** Throws for what is no entry of the lock file. What its words mean is checked by who acts on them. */
function entryOf(id: string, value: unknown): InstalledSkill {
  const { origin, commit, digest, installedAt } = (value ?? {}) as Partial<InstalledSkill>;
  if (typeof origin?.kind !== 'string' || typeof origin.location !== 'string' || typeof digest !== 'string')
    throw new TypeError(`its entry '${id}' is incomplete`);
  const { kind, location, ref, path: folder } = origin;
  return {
    origin: {
      kind,
      location,
      ...(typeof ref === 'string' ? { ref } : {}),
      ...(typeof folder === 'string' ? { path: folder } : {}),
    },
    commit: typeof commit === 'string' ? commit : null,
    digest,
    installedAt: typeof installedAt === 'string' ? installedAt : '',
  };
}

function refusalsOf(label: string): Refusals {
  const look = { code: 'skill_edited', cure: 'look at it, then try again' };
  return {
    exists: (folder) => ({ ...look, code: 'skill_exists', message: `${label} has '${folder}' already` }),
    gone: (folder) => ({ code: 'skill_not_found', message: `'${folder}' is gone already`, cure: 'see pith skills list --all' }),
    edited: (folder) => ({ ...look, message: `'${folder}' was changed by hand meanwhile` }),
    editedMeanwhile: (folder) => ({ ...look, message: `'${folder}' was changed while it was being replaced` }),
    damaged: (why) => ({
      code: 'lock_damaged',
      message: `the lock file cannot be read: ${why}`,
      cure: 'repair it, restore it from version control, or move it away; skills without an entry count as made by hand',
    }),
    journal: {
      code: 'install_failed',
      message: 'an installation was interrupted, and its journal cannot be read',
      cure: 'move the file away; what it had moved stays in .staging of the skills folder',
    },
    takenOver: {
      code: 'install_failed',
      message: 'this command was delayed, and another process undid what it had begun',
      cure: 'run it again',
    },
    busy: { code: 'install_busy', message: 'another process is installing skills' },
    failed: 'install_failed',
  };
}

/** Undoes what killed commands had begun in any of these folders, and says what is to be looked at. Never rejects. */
export async function recoverAll(targets: readonly Target[]): Promise<readonly Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const { place, folders } of targets) {
    const add = (code: string, file: string, message: string, cure: string) =>
      found.push({ severity: 'warning', code, message, file, cure });
    try {
      await folders.recover();
    } catch (error) {
      const cure = (error instanceof ChangeRefused && error.cure) || 'remove what is in the way, then run the command again';
      add('install_cut_off', place.skills, `a change of skills was interrupted and cannot be undone: ${messageOf(error)}`, cure);
    }
    const kept = folders.kept();
    if (kept === null) continue;
    const message =
      'contains earlier versions of skills: a command that was replacing them was interrupted, and their folders have been edited since';
    add('skills_kept', kept, message, 'compare each with the skill of that name, take over what is missing there, then delete this folder');
  }
  return found;
}
