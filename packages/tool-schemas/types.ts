import { isPlainMap, type PlainMap } from '@pith/plain-data';

/** Types as people and generators write them. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ...['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'].map((type) => [type, type] as const),
  ...['dict', 'map', 'record', 'struct', 'json'].map((type) => [type, 'object'] as const),
  ...['list', 'tuple', 'set'].map((type) => [type, 'array'] as const),
  ...['str', 'text', 'date', 'datetime', 'uuid', 'uri', 'url', 'email', 'enum'].map((type) => [type, 'string'] as const),
  ...['int', 'int32', 'int64', 'long'].map((type) => [type, 'integer'] as const),
  ...['float', 'double', 'decimal', 'numeric'].map((type) => [type, 'number'] as const),
  ...['bool'].map((type) => [type, 'boolean'] as const),
  ...['none', 'nil'].map((type) => [type, 'null'] as const),
]);

const HINTS: readonly (readonly [string, readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames', 'minProperties', 'maxProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains']],
  ['string', ['pattern', 'format', 'minLength', 'maxLength']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

/** The types of a value, distinct; from its values or its other keywords where `type` is absent. Empty: any. */
export function typesOf(map: PlainMap): readonly string[] {
  const said = [map['type']].flat().flatMap((each) => (typeof each === 'string' ? (TYPES.get(each.toLowerCase()) ?? []) : []));
  const own = said.length > 0 ? said : inferred(map);
  return [...new Set([...own, ...(map['nullable'] === true && own.length > 0 ? ['null'] : [])])];
}

function inferred(map: PlainMap): readonly string[] {
  const values = Array.isArray(map['enum']) ? map['enum'] : map['const'] === undefined ? [] : [map['const']];
  if (values.length > 0) return values.map(typeOf);
  const hint = HINTS.find(([, keywords]) => keywords.some((keyword) => map[keyword] !== undefined));
  return hint === undefined ? [] : [hint[0]];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isPlainMap(value)) return 'object';
  return typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : typeof value;
}
