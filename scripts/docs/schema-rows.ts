import { z } from 'zod';

/** A JSON Schema, as far as these pages read it. */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

export interface Row {
  /** Dotted; `[]` is an item of a list, `<name>` any key. */
  readonly key: string;
  readonly type: string;
  readonly fallback: string;
  readonly description: string;
}

export function schemaOf(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;
}

/** Every key below a schema, in its order. */
export function rowsOf(schema: Schema, above = ''): readonly Row[] {
  if (schema.items !== undefined) return rowsOf(schema.items, `${above}[]`);
  const named = Object.entries(schema.properties ?? {}).flatMap(([name, below]) => {
    const key = above === '' ? name : `${above}.${name}`;
    return [{ key, type: typeOf(below), fallback: fallbackOf(below), description: below.description ?? '' }, ...rowsOf(below, key)];
  });
  const open = schema.additionalProperties;
  const any =
    typeof open === 'object' && Object.keys(open).length > 0 && open.properties !== undefined ? rowsOf(open, `${above}.<name>`) : [];
  return [...named, ...any];
}

/** A table of the keys that are `shown`. Throws when any key has no meaning, or a meaning no key. */
export function keyTable(
  rows: readonly Row[],
  meanings: ReadonlyMap<string, string> = new Map(),
  shown: (row: Row) => boolean = () => true,
): string {
  const strangers = [...meanings.keys()].filter((key) => !rows.some((row) => row.key === key));
  const silent = rows.filter((row) => row.description === '' && !meanings.has(row.key)).map(({ key }) => key);
  if (strangers.length + silent.length > 0)
    throw new Error(`keys without a meaning: ${silent.join(', ') || 'none'}; meanings without a key: ${strangers.join(', ') || 'none'}`);
  const lines = rows
    .filter(shown)
    .map(
      (row) =>
        `| \`${row.key}\` | ${row.type.replaceAll('|', '\\|')} | ${row.fallback} | ${(meanings.get(row.key) ?? row.description).replaceAll('|', '\\|')} |`,
    );
  return ['| key | value | default | meaning |', '|---|---|---|---|', ...lines].join('\n');
}

function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map(String).join(' | ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(' | ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.type === 'object') return 'map';
  if (schema.type === 'boolean') return 'true | false';
  return schema.type === 'string' || schema.type === undefined ? 'text' : schema.type;
}

function fallbackOf({ default: value }: Schema): string {
  if (value === undefined || value === null || value === '') return '';
  const text = JSON.stringify(value);
  return text === '{}' || text.startsWith('{') ? '' : `\`${text.replaceAll('"', '')}\``;
}
