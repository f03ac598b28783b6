import { isPlainMap } from '@pith/plain-data';

/**
 * Why a person writes a setting, or one in its value, into the settings file by hand: the `by_hand` that an extension's schema says of it,
 * as the end of a sentence. null: it may be set by command. `keys`: the path of the setting in the schema, which is JSON Schema.
 */
export function byHandReason(schema: unknown, keys: readonly string[], value: unknown): string | null {
  if (!isPlainMap(schema)) return null;
  if (typeof schema['by_hand'] === 'string') return schema['by_hand'];
  const choices = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => (Array.isArray(schema[name]) ? schema[name] : []));
  const below = [...choices.map((each): Step => [each, keys, value]), ...steps(schema, keys, value)];
  return below.reduce<string | null>((found, step) => found ?? byHandReason(...step), null);
}

type Step = readonly [schema: unknown, keys: readonly string[], value: unknown];

function steps(schema: Readonly<Record<string, unknown>>, [key, ...rest]: readonly string[], value: unknown): readonly Step[] {
  const { properties, additionalProperties, items } = schema;
  const of = (name: string): unknown =>
    isPlainMap(properties) && Object.hasOwn(properties, name) ? properties[name] : (additionalProperties ?? items);
  if (key !== undefined) return [[of(key), rest, value]];
  if (Array.isArray(value)) return value.map((each): Step => [items, [], each]);
  return isPlainMap(value) ? Object.entries(value).map(([name, each]): Step => [of(name), [], each]) : [];
}
