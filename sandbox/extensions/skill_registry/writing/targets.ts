import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from 'pith';
import { FolderChanges, type Refusals } from '@pith/folder-changes';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { treeDigest } from '@pith/skill-files';
import type { InstalledSkill, SkillPlace } from '../contract.ts';

export interface Target {
  readonly place: SkillPlace;
  readonly folders: FolderChanges<InstalledSkill>;
}

/** Every folder into which skills are written, the one that wins first. */
export function targetsAt(
  { sandbox, home }: { readonly sandbox: string; readonly home?: string | null },
  dataDirectory: string,
  clock: Clock,
): readonly Target[] {
  const at = (source: SkillPlace['source'], label: string, folder: string, journals: StateFolder): Target => {
    const place = { source, label, skills: path.join(folder, 'skills'), lockFile: path.join(folder, 'skills.lock.json') };
    const entries = { file: place.lockFile, name: 'skills', entryOf };
    return {
      place,
      folders: new FolderChanges({ folder: place.skills, entries, journals, digestOf: treeDigest, refusals: refusalsOf(label), clock }),
    };
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
