import { PithError } from 'pith';
import { issuesToDiagnostics } from '@pith/checked-yaml';
import { savedSkillSchema, type SavedSkill } from '../domain/index.ts';

/** A skill with its defaults. Throws `skill_invalid` with all that is wrong. */
export function parsedSkill(fields: object): SavedSkill {
  const schema = savedSkillSchema();
  const parsed = schema.safeParse(fields);
  if (parsed.success) return parsed.data;
  const found = issuesToDiagnostics(parsed.error.issues, schema, { file: '', positions: {}, code: 'skill_invalid', value: fields });
  throw new PithError('skill_invalid', found.map(({ message }) => message).join('; '), { cure: 'correct it; nothing was saved' });
}
