import { PithError } from 'pith';
import { referenceOf, savedSkillSchema, type Field, type SavedSkill } from '../domain/index.ts';
import type { SkillRow } from './tables.ts';

/** Fields that are kept as JSON. */
const JSON_FIELDS: ReadonlySet<Field> = new Set<Field>([
  'tools',
  'uses_skills',
  'input_schema',
  'output_target',
  'shared_with',
  'tags',
  'state_react_emoji',
]);

/** Fields that are kept as 0 or 1. */
const FLAGS: ReadonlySet<Field> = new Set<Field>([
  'expose_as_chatbot_tool',
  'pending_approval',
  'extended_bounds',
  'parallel_composition_allowed',
  'webhook_signature_required',
  'webhook_signature_forced',
  'webhook_legacy_signature',
  'encryption_enabled',
  'preemptible',
]);

/** The columns of a skill, all or some. */
export function columnsOf(skill: Partial<SavedSkill>): Partial<Omit<SkillRow, 'revision'>> {
  const columns = Object.entries(skill).map(([key, value]) => {
    const field = key as Field;
    return [field, JSON_FIELDS.has(field) ? JSON.stringify(value) : FLAGS.has(field) ? Number(value) : value];
  });
  return Object.fromEntries(columns);
}

/** Throws `skill_damaged` for a row that something else has changed. */
export function skillOf(row: SkillRow): SavedSkill {
  try {
    const own = Object.entries(row).filter(([key]) => key !== 'revision');
    const fields = own.map(([key, value]) => {
      const field = key as Field;
      return [field, JSON_FIELDS.has(field) ? JSON.parse(String(value)) : FLAGS.has(field) ? value === 1 : value];
    });
    return savedSkillSchema().parse(Object.fromEntries(fields));
  } catch (error) {
    throw new PithError('skill_damaged', `the row of the saved skill '${String(row.name)}' is damaged`, {
      where: String(row.id),
      cause: error,
      cure: cureOf(namedIn(row)),
    });
  }
}

/** The skill of a row, readable or not, as `owner/name`. */
export function namedIn({ owner_id, name }: SkillRow): string {
  return referenceOf({ owner_id: owner_id === null ? null : String(owner_id), name: String(name) });
}

/** What helps where the row of a skill cannot be read. */
export function cureOf(reference: string): string {
  return `delete it and save it again: pith saved delete ${reference}`;
}
