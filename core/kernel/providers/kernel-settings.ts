import { fieldProblems } from '@pith/checked-yaml';
import { PithError, type JsonValue, type SettingsChange } from '../../contract/index.ts';
import { loadSettingsSchema } from '../../declarations/index.ts';
import { describeIssues, jsonSchemaOf } from '../calls/schemas.ts';
import { isPlainMap, type PlainMap } from '@pith/plain-data';
import { didYouMean, printableLine } from '@pith/plain-text';

/** A settings form: what may be set, as JSON Schema (null: nobody says), and what is set. */
export interface SettingsForm {
  readonly schema: JsonValue;
  readonly values: PlainMap;
}

/** What is set by command. The rest says whose secrets go where, or loosens a safeguard: a person writes it by hand. */
const CHANGEABLE = ['default_agent', 'models', 'effort', 'prices', 'quotas'];

/** The settings of Pith itself that are set by command. */
export async function kernelForm(settings: object): Promise<SettingsForm> {
  const schema = (await jsonSchemaOf((await loadSettingsSchema()).settingsSchema())) as {
    readonly properties: Readonly<Record<string, JsonValue>>;
  };
  const changeable = (from: object) => Object.fromEntries(Object.entries(from).filter(([key]) => CHANGEABLE.includes(key)));
  return { schema: { type: 'object', properties: changeable(schema.properties) as JsonValue }, values: changeable(settings) };
}

/** Throws `not_allowed` for what a person writes by hand, and `config_invalid` for what the schema refuses. */
export async function checkKernelChanges(changes: SettingsChange): Promise<void> {
  const schema = (await loadSettingsSchema()).settingsSchema();
  const known = Object.keys(schema.shape);
  for (const dotted of Object.keys(changes)) {
    const keys = dotted.split('.');
    const [first = ''] = keys;
    if (!known.includes(first))
      throw new PithError('config_invalid', `there is no setting '${printableLine(first, 80)}'${didYouMean(first, known)}`, {
        cure: 'see: pith settings',
        problems: [{ path: keys, message: 'is unknown' }],
      });
    if (CHANGEABLE.includes(first) && !keys.includes('') && !keys.includes('__proto__')) continue;
    throw new PithError('not_allowed', `'${dotted}' cannot be set by command`, {
      cure: `write it into pith.yaml by hand; by command: ${CHANGEABLE.join(', ')}`,
    });
  }
  const given = nested(changes);
  const { error } = schema.safeParse(given);
  if (error === undefined) return;
  const messages = describeIssues(error.issues, schema, given).map(({ message }) => message);
  throw new PithError('config_invalid', messages.join('; '), {
    cure: 'give another value',
    problems: fieldProblems(error.issues, schema, given),
  });
}

/** What is taken out is not checked. */
function nested(changes: SettingsChange): PlainMap {
  const whole: Record<string, unknown> = {};
  for (const [dotted, value] of Object.entries(changes)) {
    if (value === null) continue;
    const keys = dotted.split('.');
    let below = whole;
    for (const key of keys.slice(0, -1)) below = (below[key] = isPlainMap(below[key]) ? { ...below[key] } : {}) as Record<string, unknown>;
    below[keys.at(-1) ?? ''] = value;
  }
  return whole;
}
