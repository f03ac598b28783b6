import { effortOf } from '@pith/patterns';
import { canonicalJson, isBounded, isPlainMap, type PlainMap } from '@pith/plain-data';
import type { RE2JS } from 're2js';
import { z } from 'zod';

/** The value with the schema's defaults in place of what is absent, or what is wrong with it. */
export type CheckedValue = { readonly value: unknown } | { readonly problems: readonly string[] };

/** Checks values against a JSON Schema, in time that neither the schema nor a value makes long. */
export interface ValueCheck {
  /** Resolves once its patterns are compiled; rejects where one cannot be. */
  ready(): Promise<void>;
  check(value: unknown): Promise<CheckedValue>;
}

/** In characters of its JSON. */
const LARGEST = 131_072;
const DEEPEST_SCHEMA = 64;
const DEEPEST_VALUE = 200;
const MOST_PARTS = 100_000;
/** How many schemas one value is checked against once references are followed: a few of them can make millions. */
const MOST_AT_ONCE = 2000;
/** How many parts of one value are checked, each counted once per schema: about a tenth of a second. */
const MOST_STEPS = 200_000;
/** Checks within checks. */
const DEEPEST_CHECK = 1000;
const MOST_PROBLEMS = 10;
/** Of what is said of one problem, in characters. */
const LONGEST_PROBLEM = 500;
/** Of all patterns together, in instructions; see `effortOf`. */
const MOST_PATTERN_EFFORT = 2000;
/** Characters that cost one step, alone or times the instructions of a pattern. */
const CHARACTERS_A_STEP = 64;

/** Throws where the schema is too large or uses what cannot be checked. */
export function valueCheck(json: PlainMap): ValueCheck {
  if (!isBounded(json, { levels: DEEPEST_SCHEMA, parts: MOST_PARTS }))
    throw new Error(`it has more than ${DEEPEST_SCHEMA} levels or ${MOST_PARTS} parts`);
  const text = JSON.stringify(json);
  if (text.length > LARGEST) throw new Error(`it is larger than ${LARGEST} characters`);
  const schema = new Schema(JSON.parse(text) as PlainMap);
  let compiled: Promise<Patterns> | undefined;
  const patterns = () => (compiled ??= patternsOf(schema.patterns));
  return {
    ready: async () => void (await patterns()),
    async check(value) {
      if (!isBounded(value, { levels: DEEPEST_VALUE, parts: MOST_PARTS }))
        return { problems: [`it has more than ${DEEPEST_VALUE} levels or ${MOST_PARTS} parts`] };
      return new Check(schema, await patterns()).of(structuredClone(value));
    },
  };
}

type Patterns = ReadonlyMap<string, RE2JS>;

/** The compiler is loaded for the first schema with a pattern. */
async function patternsOf(written: ReadonlySet<string>): Promise<Patterns> {
  if (written.size === 0) return new Map();
  const { RE2JS } = await import('re2js');
  return new Map(
    [...written].map((pattern) => {
      try {
        return [pattern, RE2JS.compile(RE2JS.translateRegExp(pattern))];
      } catch (error) {
        throw new Error(`the pattern '${pattern}' cannot be used: ${(error as Error).message.replace(/^error parsing regexp: /u, '')}`, {
          cause: error,
        });
      }
    }),
  );
}

/** Keywords with a schema, with a list of schemas, and with schemas by name. */
const SINGLE = ['not', 'items', 'additionalItems', 'additionalProperties', 'contains', 'propertyNames'];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions'];
/** Those that check the same value as the schema that has them. */
const IN_PLACE = ['not', 'allOf', 'anyOf', 'oneOf'];
const REFUSED = [
  'if',
  'then',
  'else',
  'dependencies',
  'dependentSchemas',
  'dependentRequired',
  'unevaluatedItems',
  'unevaluatedProperties',
];
const FOREIGN = ['$dynamicRef', '$recursiveRef'];

/** A schema whose keywords and references are known to be usable. */
class Schema {
  readonly patterns = new Set<string>();
  readonly #parts = new Set<PlainMap>();
  readonly #targets = new Map<PlainMap, unknown>();
  readonly #values = new Map<PlainMap, ReadonlySet<string>>();

  constructor(readonly root: PlainMap) {
    this.#add(root);
    for (const part of this.#parts) {
      const unknown = [...REFUSED, ...FOREIGN].find((keyword) => part[keyword] !== undefined);
      if (unknown !== undefined) throw new Error(`the keyword '${unknown}' cannot be checked`);
      if (typeof part['pattern'] === 'string') this.patterns.add(part['pattern']);
      for (const pattern of keysOf(part['patternProperties'])) this.patterns.add(pattern);
    }
    const effort = [...this.patterns].reduce((sum, pattern) => sum + effortOf(pattern), 0);
    if (effort > MOST_PATTERN_EFFORT) throw new Error('its patterns are too large');
    const counts = new Map<PlainMap, number>();
    for (const part of this.#parts) if (part['$ref'] !== undefined) this.#targets.set(part, this.#resolve(part['$ref']));
    for (const part of this.#parts) this.#countAtOnce(part, counts, 0);
  }

  /** The schema that `$ref` means; undefined: there is no `$ref`. */
  target(part: PlainMap): unknown {
    return this.#targets.get(part);
  }

  /** The values of `enum` and `const`, as `keyOf` makes them; undefined: any. */
  values(part: PlainMap): ReadonlySet<string> | undefined {
    const { enum: listed, const: only } = part;
    if (!Array.isArray(listed) && only === undefined) return undefined;
    const both = only === undefined ? listed : Array.isArray(listed) && !listed.map(keyOf).includes(keyOf(only)) ? [] : [only];
    const values = this.#values.get(part) ?? new Set((both as readonly unknown[]).map(keyOf));
    this.#values.set(part, values);
    return values;
  }

  #resolve(ref: unknown): unknown {
    const steps = typeof ref === 'string' && ref.startsWith('#') ? ref.slice(1).split('/').slice(1) : null;
    let target: unknown = steps === null ? undefined : this.root;
    for (const step of steps ?? []) {
      const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
      target = typeof target === 'object' && target !== null && Object.hasOwn(target, name) ? (target as PlainMap)[name] : undefined;
    }
    if (typeof target === 'boolean' || this.#parts.has(target as PlainMap)) return target;
    throw new Error(`it has no schema at '${String(ref)}'`);
  }

  #add(part: unknown): void {
    if (!isPlainMap(part) || this.#parts.has(part)) return;
    this.#parts.add(part);
    for (const keyword of SINGLE) this.#add(part[keyword]);
    for (const keyword of LISTS) for (const each of listOf(part[keyword])) this.#add(each);
    for (const keyword of MAPS) for (const each of Object.values(mapOf(part[keyword]))) this.#add(each);
  }

  /** Throws where a value would be checked without an end, or too often. */
  #countAtOnce(part: unknown, counts: Map<PlainMap, number>, depth: number): number {
    if (!isPlainMap(part)) return 1;
    const known = counts.get(part);
    if (known === Infinity) throw new Error('it refers to itself without an end');
    if (known !== undefined) return known;
    counts.set(part, Infinity);
    const inPlace = depth > MOST_AT_ONCE ? [] : [this.target(part) ?? [], ...IN_PLACE.map((keyword) => part[keyword] ?? [])].flat();
    const count = inPlace.reduce<number>(
      (sum, each) => sum + this.#countAtOnce(each, counts, depth + 1),
      depth > MOST_AT_ONCE ? Infinity : 1,
    );
    if (count > MOST_AT_ONCE) throw new Error(`its references make more than ${MOST_AT_ONCE} schemas for one value`);
    counts.set(part, count);
    return count;
  }
}

const TOO_LONG = new Error('too many steps');

/** The check of one value, which it may change. */
class Check {
  #left = MOST_STEPS;
  #depth = 0;
  readonly #formats = new Map<string, z.ZodType>();
  /** What is set once the value is known to be right. */
  readonly #defaults: (() => void)[] = [];

  constructor(
    private readonly schema: Schema,
    private readonly patterns: Patterns,
  ) {}

  of(value: unknown): CheckedValue {
    const problems: string[] = [];
    try {
      for (const problem of this.#problems(this.schema.root, value, [])) if (problems.push(problem) === MOST_PROBLEMS) break;
    } catch (error) {
      if (error !== TOO_LONG) throw error;
      return { problems: ['it takes too long to check; make it smaller'] };
    }
    if (problems.length > 0) return { problems };
    for (const set of this.#defaults) set();
    return { value };
  }

  *#problems(schema: unknown, value: unknown, path: readonly string[]): Generator<string, void, undefined> {
    this.#spend(this.#depth < DEEPEST_CHECK ? 1 : Infinity);
    if (schema === false) yield said(path, 'is not allowed');
    if (!isPlainMap(schema)) return;
    this.#depth += 1;
    try {
      yield* this.#ofOwn(schema, value, path);
      yield* this.#ofOthers(schema, value, path);
    } finally {
      this.#depth -= 1;
    }
  }

  /** What the schema says itself. */
  *#ofOwn(schema: PlainMap, value: unknown, path: readonly string[]): Generator<string, void, undefined> {
    const { type } = schema;
    if (type !== undefined && ![type].flat().some((each) => isOfType(each, value))) {
      yield said(path, `must be ${[type].flat().join(' or ')}`);
      return;
    }
    const values = this.schema.values(schema);
    if (values?.has(this.#keyOf(value)) === false) yield said(path, `must be ${shown([...values])}`);
    if (typeof value === 'string') yield* this.#ofText(schema, value, path);
    else if (typeof value === 'number') yield* ofNumber(schema, value, path);
    else if (Array.isArray(value)) yield* this.#ofList(schema, value, path);
    else if (isPlainMap(value)) yield* this.#ofMap(schema, value, path);
  }

  /** What other schemas say of the same value. */
  *#ofOthers(schema: PlainMap, value: unknown, path: readonly string[]): Generator<string, void, undefined> {
    const target = this.schema.target(schema);
    if (target !== undefined) yield* this.#problems(target, value, path);
    for (const each of listOf(schema['allOf'])) yield* this.#problems(each, value, path);
    const { anyOf, oneOf, not } = schema;
    if (Array.isArray(anyOf) && !anyOf.some((each) => this.#matches(each, value)))
      yield said(path, 'matches none of the schemas of its anyOf');
    if (Array.isArray(oneOf)) {
      const matching = oneOf.filter((each) => this.#matches(each, value)).length;
      if (matching !== 1) yield said(path, `matches ${matching} of the schemas of its oneOf, not one`);
    }
    if (not !== undefined && this.#matches(not, value)) yield said(path, 'matches the schema of its not');
  }

  #matches(schema: unknown, value: unknown): boolean {
    const before = this.#defaults.length;
    for (const _ of this.#problems(schema, value, [])) {
      this.#defaults.length = before;
      return false;
    }
    return true;
  }

  *#ofText(schema: PlainMap, text: string, path: readonly string[]): Generator<string, void, undefined> {
    const { minLength, maxLength, pattern, format } = schema;
    if (typeof minLength === 'number' || typeof maxLength === 'number') {
      this.#spend(text.length / CHARACTERS_A_STEP);
      let length = 0;
      for (const _ of text) length += 1;
      yield* ofSize(length, [minLength, maxLength], 'characters', path);
    }
    if (typeof pattern === 'string' && !this.#fits(pattern, text)) yield said(path, `must match ${pattern}`);
    if (typeof format !== 'string') return;
    this.#spend(1 + text.length / CHARACTERS_A_STEP);
    const known = this.#formats.get(format) ?? z.fromJSONSchema({ type: 'string', format });
    this.#formats.set(format, known);
    if (!known.safeParse(text).success) yield said(path, `must be of the format ${format}`);
  }

  *#ofList(schema: PlainMap, list: readonly unknown[], path: readonly string[]): Generator<string, void, undefined> {
    const { items, prefixItems, additionalItems, contains, minContains = 1, maxContains = Infinity } = schema;
    yield* ofSize(list.length, [schema['minItems'], schema['maxItems']], 'items', path);
    const first = listOf(prefixItems ?? items);
    const rest = Array.isArray(items) ? additionalItems : items;
    for (const [at, item] of list.entries())
      yield* this.#problems(at < first.length ? first[at] : (rest ?? true), item, [...path, String(at)]);
    if (contains !== undefined) {
      const count = list.filter((item) => this.#matches(contains, item)).length;
      if (count < Number(minContains) || count > Number(maxContains)) yield said(path, `has ${count} of the items that it must contain`);
    }
    if (schema['uniqueItems'] === true && new Set(list.map((item) => this.#keyOf(item))).size < list.length)
      yield said(path, 'has an item twice');
  }

  *#ofMap(schema: PlainMap, map: PlainMap, path: readonly string[]): Generator<string, void, undefined> {
    const { additionalProperties, propertyNames } = schema;
    const properties = mapOf(schema['properties']);
    const byPattern = Object.entries(mapOf(schema['patternProperties']));
    const names = Object.keys(map);
    yield* ofSize(names.length, [schema['minProperties'], schema['maxProperties']], 'properties', path);
    const required = listOf(schema['required']).filter((name) => typeof name === 'string');
    const known = Object.keys(properties);
    this.#spend(required.length + known.length);
    for (const name of known) if (!Object.hasOwn(map, name)) this.#setDefault(map, name, properties[name]);
    for (const name of required)
      if (!Object.hasOwn(map, name) && fieldOf(properties, name, 'default') === undefined) yield said([...path, name], 'is missing');
    for (const name of names) {
      const matching = byPattern.filter(([pattern]) => this.#fits(pattern, name)).map(([, each]) => each);
      if (Object.hasOwn(properties, name)) matching.push(properties[name]);
      else if (matching.length === 0) matching.push(additionalProperties ?? true);
      for (const each of matching) yield* this.#problems(each, map[name], [...path, name]);
      if (propertyNames !== undefined && !this.#matches(propertyNames, name)) yield said([...path, name], 'has a name that is not allowed');
    }
  }

  #setDefault(map: PlainMap, name: string, schema: unknown): void {
    const value = isPlainMap(schema) ? schema['default'] : undefined;
    if (value === undefined || name === '__proto__') return;
    this.#defaults.push(() => {
      (map as Record<string, unknown>)[name] ??= structuredClone(value);
    });
  }

  #fits(pattern: string, text: string): boolean {
    const compiled = this.patterns.get(pattern);
    this.#spend(1 + (text.length * (compiled?.programSize() ?? 0)) / CHARACTERS_A_STEP);
    return compiled?.test(text) === true;
  }

  #keyOf(value: unknown): string {
    const key = keyOf(value);
    this.#spend(key.length / CHARACTERS_A_STEP);
    return key;
  }

  #spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw TOO_LONG;
  }
}

function* ofNumber(schema: PlainMap, value: number, path: readonly string[]): Generator<string, void, undefined> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === 'number' && value < minimum) yield said(path, `must be at least ${minimum}`);
  if (typeof maximum === 'number' && value > maximum) yield said(path, `must be at most ${maximum}`);
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) yield said(path, `must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) yield said(path, `must be less than ${exclusiveMaximum}`);
  if (typeof multipleOf === 'number' && !isWhole(value / multipleOf)) yield said(path, `must be a multiple of ${multipleOf}`);
}

function* ofSize(
  size: number,
  [least, most]: readonly unknown[],
  what: string,
  path: readonly string[],
): Generator<string, void, undefined> {
  if (typeof least === 'number' && size < least) yield said(path, `must have at least ${least} ${what}`);
  if (typeof most === 'number' && size > most) yield said(path, `must have at most ${most} ${what}`);
}

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isPlainMap(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Of decimals too, which a computer keeps nearly. */
function isWhole(value: number): boolean {
  return Math.abs(value - Math.round(value)) < 1e-9 * Math.max(1, Math.abs(value));
}

/** Equal for equal values. */
const keyOf = canonicalJson;

function shown(values: readonly string[]): string {
  return values.length <= MOST_PROBLEMS ? values.join(' or ') : `${values.slice(0, MOST_PROBLEMS).join(' or ')} or another of its enum`;
}

function said(path: readonly string[], what: string): string {
  return (path.length === 0 ? what : `${path.join('.')}: ${what}`).slice(0, LONGEST_PROBLEM);
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step; // a percent sign of the name itself
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function mapOf(value: unknown): PlainMap {
  return isPlainMap(value) ? value : {};
}

function keysOf(value: unknown): readonly string[] {
  return Object.keys(mapOf(value));
}

function fieldOf(map: PlainMap, name: string, field: string): unknown {
  return Object.hasOwn(map, name) ? mapOf(map[name])[field] : undefined;
}
