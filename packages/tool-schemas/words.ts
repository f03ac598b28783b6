import { isPlainMap, type PlainMap } from '@pith/plain-data';
import { printable } from '@pith/plain-text';

/** Keywords that matter and that some provider refuses: they become words. */
const SAID = [
  'default',
  'const',
  'enum',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'uniqueItems',
  'prefixItems',
  'minProperties',
  'maxProperties',
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'contains',
  'not',
  'if',
  'dependentRequired',
  'examples',
  'example',
];
const LONGEST_WORD = 200;
const LONGEST_DESCRIPTION = 1000;

/** `part` with the description of `map`, and words for what `part` lacks; among alternatives on the first, since `anyOf` must be alone. */
export function described(part: PlainMap, map: PlainMap): PlainMap {
  const stated = [map['description'], map['title']].find((each) => typeof each === 'string' && each.trim() !== '');
  const own = typeof stated === 'string' ? stated : '';
  const words = SAID.flatMap((key) => (isStated(part, map, key) ? [] : wordOf(key, map[key])));
  return withText(part, [own, words.length === 0 ? '' : `(${words.join('; ')})`]);
}

export function withWords(part: PlainMap, words: readonly string[]): PlainMap {
  const said = words.filter((word) => word !== '');
  return said.length === 0 ? part : withText(part, [`(${said.join('; ')})`], true);
}

/** A schema that notes in words what cannot be followed. */
export function withNote(map: PlainMap, key: string, value: unknown): PlainMap {
  return { ...map, description: wordOf(key, value).join('') || undefined };
}

function withText(part: PlainMap, texts: readonly string[], isBehind = false): PlainMap {
  const { anyOf } = part;
  if (Array.isArray(anyOf)) {
    const [first, ...others] = anyOf as readonly PlainMap[];
    return { anyOf: [withText(first as PlainMap, texts, isBehind), ...others] };
  }
  const { type, description, ...rest } = part;
  const own = typeof description === 'string' ? [description] : [];
  const all = (isBehind ? [...own, ...texts] : [...texts, ...own]).filter((each) => each !== '').join(' ');
  const text = printable(all.slice(0, LONGEST_DESCRIPTION))
    .slice(0, LONGEST_DESCRIPTION)
    .replaceAll(/\p{Surrogate}/gu, '\ufffd');
  return { type, ...(text === '' ? {} : { description: text }), ...rest };
}

function isStated(part: PlainMap, map: PlainMap, key: string): boolean {
  const value = map[key];
  if (key === 'const') return isOffered(part, value);
  if (key === 'enum') return Array.isArray(value) && value.every((each) => isOffered(part, each));
  if (isNoBound(value)) return true;
  if (key === 'prefixItems') return !Array.isArray(value);
  if (key === 'additionalProperties') return !isPlainMap(value) || Object.keys(value).length === 0;
  if (isPlainMap(value) && Object.keys(value).length === 0) return true;
  return part[key] === value;
}

/** Whether a type or an `enum` of strings already allows only such values. */
function isOffered(part: PlainMap, value: unknown): boolean {
  const options = Array.isArray(part['anyOf']) ? (part['anyOf'] as readonly PlainMap[]) : [part];
  return options.some((option) =>
    value === null ? option['type'] === 'null' : Array.isArray(option['enum']) && option['enum'].includes(value),
  );
}

/** A bound at the limit of integers: generators write it for no bound. */
export function isNoBound(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) >= Number.MAX_SAFE_INTEGER;
}

/** `pattern: "^a"`; nothing for a value that is not short. */
function wordOf(key: string, value: unknown): readonly string[] {
  const text = brief(value);
  return text === null ? [] : [`${key}: ${text}`];
}

/** Short values as JSON, at little cost for any value. null: too long, or not JSON. */
function brief(value: unknown): string | null {
  let left = LONGEST_WORD;
  const isShort = (part: unknown): boolean => {
    left -= typeof part === 'string' ? part.length + 2 : 2;
    if (left < 0) return false;
    if (typeof part !== 'object' || part === null) return true;
    for (const [name, each] of Object.entries(part)) {
      if (!Array.isArray(part)) left -= name.length;
      if (!isShort(each)) return false;
    }
    return true;
  };
  return isShort(value) ? (JSON.stringify(value) ?? null) : null;
}
