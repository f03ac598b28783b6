import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { isBelow } from '@pith/safe-files';
import { codeOf, PithError } from '../contract/index.ts';
import type { EmbeddedSkill } from './options.ts';

/** Made when something has to be written, such as skills that are objects, and removed at the end. */
export class TemporaryFolder {
  readonly path = path.join(os.tmpdir(), `pith-${randomUUID()}`);

  async withSkills(skills: readonly EmbeddedSkill[]): Promise<string> {
    const folder = path.join(this.path, 'skills');
    for (const [at, { id, description, body, files = {} }] of skills.entries()) {
      if (id.length > LONGEST_ID || id !== id.toLowerCase() || !/^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u.test(id))
        throw new PithError('settings_invalid', `skills: '${id}' is not an id`, {
          cure: `use small letters, digits and single hyphens, ${LONGEST_ID} of them at most`,
        });
      if (skills.findIndex((other) => other.id === id) < at)
        throw new PithError('settings_invalid', `skills: '${id}' is there twice`, { cure: 'rename one of them' });
      const text = `---\nname: ${JSON.stringify(id)}\ndescription: ${JSON.stringify(description)}\n---\n${body}`;
      for (const [name, content] of Object.entries({ ...files, 'SKILL.md': text })) {
        const file = path.join(folder, id, name);
        if (!isBelow(file, path.join(folder, id)))
          throw new PithError('settings_invalid', `skills: the file '${name}' of '${id}' is outside of the skill`, {
            cure: 'correct its path',
          });
        try {
          await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
          await writeFile(file, content);
        } catch (error) {
          if (!UNUSABLE_NAME.has(codeOf(error, ''))) throw error;
          throw new PithError('settings_invalid', `skills: ${JSON.stringify(name)} of '${id}' cannot be the name of a file there`, {
            cause: error,
            cure: 'rename it',
          });
        }
      }
    }
    return folder;
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }
}

/** Of a skill. */
const LONGEST_ID = 64;
/** What a system says to the name of a file: it contains NUL, is too long, or is that of a folder. */
const UNUSABLE_NAME: ReadonlySet<string> = new Set(['ERR_INVALID_ARG_VALUE', 'ENAMETOOLONG', 'ENOTDIR', 'EEXIST', 'EISDIR']);
