import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, messageOf, PithError } from 'pith';
import { fieldProblems, issuesToDiagnostics, parseYaml } from '@pith/checked-yaml';
import { skillFileSchema, type SkillFile, savedSkillSchema, type SavedSkill } from '../domain/saved-skill.ts';

export const MOST_BYTES = 256 * 1024;

/** A `skill.yml` that a person names. Throws `skill_file_invalid`. */
export async function readSkillFile(file: string, folder: string): Promise<SkillFile> {
  const place = path.resolve(folder, file);
  let text: string;
  try {
    text = await readFile(place, 'utf8');
  } catch (error) {
    const why = codeOf(error, '') === 'ENOENT' ? 'there is no such file' : messageOf(error);
    throw new PithError('skill_file_invalid', `${file} cannot be read: ${why}`, { cause: error, cure: 'name a file of YAML' });
  }
  return parseSkillFile(text, file);
}

/** What the text of a `skill.yml` says. Throws `skill_file_invalid` with each line that is wrong. */
export async function parseSkillFile(text: string, file: string): Promise<SkillFile> {
  const document = await parseYaml(text, { file, code: 'skill_file_invalid', maxBytes: MOST_BYTES });
  const broken = document.diagnostics.filter(({ severity }) => severity === 'error');
  const schema = skillFileSchema();
  const parsed = broken.length > 0 ? null : schema.safeParse(document.value ?? {});
  if (parsed?.success === true) return parsed.data;
  const source = { file, positions: document.positions, code: 'skill_file_invalid', value: document.value };
  const found = parsed === null ? broken : issuesToDiagnostics(parsed.error.issues, schema, source);
  const lines = found.map(({ message, line }) => `${line === undefined ? '' : `line ${line}: `}${message}`);
  throw new PithError('skill_file_invalid', `${file}: ${lines.join('; ')}`, {
    cure: 'correct it; see: docs/saved-skills.md',
    ...(parsed === null ? {} : { problems: fieldProblems(parsed.error.issues, schema, document.value) }),
  });
}

/** A skill with its defaults. Throws `skill_invalid` with all that is wrong. */
export function parsedSkill(fields: object): SavedSkill {
  const schema = savedSkillSchema();
  const parsed = schema.safeParse(fields);
  if (parsed.success) return parsed.data;
  const found = issuesToDiagnostics(parsed.error.issues, schema, { file: '', positions: {}, code: 'skill_invalid', value: fields });
  throw new PithError('skill_invalid', found.map(({ message }) => message).join('; '), {
    cure: 'correct it; nothing was saved',
    problems: fieldProblems(parsed.error.issues, schema, fields),
  });
}
