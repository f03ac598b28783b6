/** A JSON Schema, as far as a form reads it. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  /** Why only a person who edits the file sets it. */
  readonly by_hand?: string;
}

/** What `GET /api/settings` answers. */
export interface SettingsForm {
  /** null: nobody knows it here. */
  readonly schema: Schema | null;
  readonly values: Readonly<Record<string, unknown>>;
  readonly set: readonly { readonly key: string; readonly where: string }[];
}

export interface Field {
  /** As in pith.yaml, below what the form is for. */
  readonly key: string;
  readonly kind: 'switch' | 'choice' | 'number' | 'text' | 'list' | 'json';
  readonly choices: readonly string[];
  readonly description: string;
  readonly fallback: unknown;
  /** undefined: nothing is set. */
  readonly value: unknown;
  /** The file and line, variable or flag; null: it has its default. */
  readonly where: string | null;
  /** Why only a person who edits the file sets it, as the end of a sentence; null: it is set here. */
  readonly byHand: string | null;
  readonly bounds: { readonly min?: number; readonly max?: number; readonly step?: 1 | 'any' };
}

/** A field for each setting; objects with known keys are opened. `above`: the keys of pith.yaml before them. */
export function fieldsOf({ schema, values, set }: SettingsForm, above: string): readonly Field[] {
  const shown = schema ?? { properties: Object.fromEntries(Object.keys(values).map((key) => [key, {}])) };
  const below = (object: Schema, found: unknown, prefix: string): readonly Field[] =>
    Object.entries(object.properties ?? {}).flatMap(([name, each]) => {
      const key = `${prefix}${name}`;
      const value = (found as Readonly<Record<string, unknown>> | undefined)?.[name];
      if (Object.keys(each.properties ?? {}).length > 0) return below(each, value, `${key}.`);
      const where = set.find(({ key: of }) => of === above + key || of.startsWith(`${above}${key}.`))?.where ?? null;
      return [fieldOf(key, each, { value, where })];
    });
  return below(shown, values, '');
}

function fieldOf(key: string, schema: Schema, { value, where }: Pick<Field, 'value' | 'where'>): Field {
  const { type, description = '', default: fallback, enum: choices = [], minimum, maximum, items, by_hand: byHand = null } = schema;
  const isNumber = type === 'integer' || type === 'number';
  const isList = type === 'array' && items?.type === 'string';
  const plain = type === 'string' || (type === undefined && typeof value === 'string') ? 'text' : 'json';
  const kind = type === 'boolean' ? 'switch' : choices.length > 0 ? 'choice' : isNumber ? 'number' : isList ? 'list' : plain;
  const bounds = {
    ...(minimum === undefined || minimum < Number.MIN_SAFE_INTEGER + 1 ? {} : { min: minimum }),
    ...(maximum === undefined || maximum > Number.MAX_SAFE_INTEGER - 1 ? {} : { max: maximum }),
    step: type === 'integer' ? (1 as const) : ('any' as const),
  };
  return {
    key,
    kind,
    choices: choices.map(String),
    description,
    fallback,
    value: where === null ? undefined : value,
    where,
    byHand,
    bounds,
  };
}

/** What its box shows; empty: nothing is set. */
export function textOf({ kind }: Pick<Field, 'kind'>, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (kind === 'list') return (value as readonly unknown[]).join('\n');
  return kind === 'json' ? JSON.stringify(value, null, 1) : String(value);
}

/** What a person typed, as JSON; null takes the setting out. Throws a `SyntaxError` for what is no JSON. */
export function jsonOf({ kind }: Pick<Field, 'kind'>, text: string): string {
  if (text.trim() === '') return 'null';
  if (kind === 'text' || kind === 'choice') return JSON.stringify(text);
  if (kind === 'list') return JSON.stringify(text.split('\n').flatMap((line) => line.trim() || []));
  return kind === 'json' ? JSON.stringify(JSON.parse(text)) : text.trim();
}
