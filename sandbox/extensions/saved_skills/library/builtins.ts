import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, messageOf, PithError, type Diagnostic } from 'pith';
import { isNothingThere, NO_REGULAR_FILE, readRegularFile } from '@pith/safe-files';
import { reasonOf } from '@pith/skill-files';
import compareVersions from 'semver/functions/compare.js';
import { sha256 } from '@pith/plain-data';
import { type SavedSkill, type SkillFile, VERSIONED_FIELDS } from '../domain/saved-skill.ts';
import type { StoredSkill } from '../store/skill-store.ts';
import { parsedSkill, MOST_BYTES, parseSkillFile } from './skill-file.ts';
import { checked, type Saver, versionOf } from './saving.ts';

/** Whoever stores what ships. */
const PITH = { userId: 'pith', isAdmin: true };

/**
 * Stores the skills of `folders/<id>/skill.yml`: new ones, and those whose version is higher than what is stored. What people decided about
 * one (who sees and runs it, when, how urgently) stays. A file that is wrong costs that one only. Returns what is wrong.
 */
export async function seedBuiltins(saver: Saver, folders: readonly string[]): Promise<readonly Diagnostic[]> {
  const problems: Diagnostic[] = [];
  for (const folder of folders) {
    for (const name of await namesIn(folder)) {
      const file = path.join(folder, name, 'skill.yml');
      try {
        const note = await seedBeside(saver, name, await parseSkillFile(await textOf(file), file));
        if (note !== null) problems.push({ severity: 'warning', code: 'version_lower', message: note, file });
      } catch (error) {
        if (codeOf(error, '') === 'ENOENT') continue; // a folder of something else
        problems.push({ severity: 'error', code: codeOf(error, 'skill_file_invalid'), message: messageOf(error), file });
      }
    }
  }
  for (const { message, file } of problems)
    saver.context.logger.warn('a saved skill that ships was not stored as its file says', { file, message });
  return problems;
}

/** Never waits for a pipe, and follows no link. Rejects with `ENOENT` where there is no such file. */
async function textOf(file: string): Promise<string> {
  if (!(await lstat(file)).isFile())
    throw new PithError('skill_file_invalid', `${file}: ${NO_REGULAR_FILE}`, { cure: 'write a file there' });
  try {
    return (await readRegularFile(file, MOST_BYTES)).toString('utf8');
  } catch (error) {
    throw new PithError('skill_file_invalid', `${file}: ${reasonOf(error)}`, { cause: error, cure: 'correct it' });
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder, { withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    if (!isNothingThere(error)) throw error;
    return []; // there are none
  }
}

/** As `seed`; where another process that begins now was faster, by what it has stored. */
async function seedBeside(...asked: Parameters<typeof seed>): Promise<string | null> {
  try {
    return await seed(...asked);
  } catch (error) {
    if (!['name_taken', 'write_conflict'].includes(codeOf(error, ''))) throw error;
    return seed(...asked);
  }
}

/** Why the file was not taken; null when it was, or is what is stored. */
async function seed(saver: Saver, folder: string, file: SkillFile): Promise<string | null> {
  const id = file.id ?? uuidOf(`saved skill ${folder}`); // the same on every machine
  const stored = await saver.skills.byId(id);
  const { version = '1.0.0', name = folder } = file;
  if (stored === null) {
    await insert(saver, { ...file, id, name, version });
    return null;
  }
  const order = compareVersions(version, stored.skill.version);
  if (order < 0) return `version ${version} is lower than ${stored.skill.version}, which is stored and stays`;
  if (order > 0) await renew(saver, stored, { ...file, id, name, version });
  return null;
}

async function insert(saver: Saver, file: SkillFile): Promise<void> {
  const now = saver.context.clock.now();
  // A file runs nothing by itself: a person says when.
  const kept = { owner_id: null, source: 'builtin', created_at: now, updated_at: now, authored_by: null, schedule: null, time_zone: null };
  const skill = await checked(saver, {
    before: null,
    after: parsedSkill({ visibility: 'public', ...file, ...kept }),
    by: PITH,
    makesVersion: true,
  });
  await saver.skills.insert(skill, await versionOf(saver, skill, 1, versionId(skill, 1)));
}

async function renew(saver: Saver, stored: StoredSkill, file: SkillFile): Promise<void> {
  const { skill } = stored;
  const content = Object.fromEntries(VERSIONED_FIELDS.map((field) => [field, file[field]])); // what the file leaves out is the default again
  const renewed = parsedSkill({ ...skill, ...content, updated_at: saver.context.clock.now() });
  const after = await checked(saver, { before: skill, after: renewed, by: PITH, makesVersion: true });
  const { id: _, ...change } = after;
  const number = await saver.skills.nextNumber(skill.id);
  await saver.skills.update(stored, change, await versionOf(saver, after, number, versionId(after, number)));
}

/** The same on every machine. */
function versionId({ id, version }: SavedSkill, number: number): string {
  return uuidOf(`${id} ${number} ${version}`);
}

/** A UUID (version 8: of our own making) that a text always gives. */
function uuidOf(text: string): string {
  const hex = sha256(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
