import { manifestSchema } from '../../core/trust/index.ts';
import { z } from 'pith';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  /** Of a map with free names; false where there are none. */
  readonly additionalProperties?: Schema | false;
}

/** Every key of a manifest, dotted; `[]` stands for an item of a list, `<name>` for a free name. */
export function manifestKeys(): readonly string[] {
  return keysOf(z.toJSONSchema(manifestSchema(), { io: 'input', unrepresentable: 'any' }) as Schema, '');
}

function keysOf(schema: Schema, above: string): readonly string[] {
  if (schema.items !== undefined) return keysOf(schema.items, `${above}[]`);
  const free = schema.additionalProperties ? keysOf(schema.additionalProperties, `${above}.<name>`) : [];
  const named = Object.entries(schema.properties ?? {}).flatMap(([name, below]) => {
    const key = above === '' ? name : `${above}.${name}`;
    return [key, ...keysOf(below, key)];
  });
  return [...named, ...free];
}
