import { isPlainMap, type PlainMap } from '@pith/plain-data';
import { flattener } from './flattened.ts';
import { typesOf } from './types.ts';
import { described, isNoBound, withWords } from './words.ts';

/** What a model is told of a tool's arguments. */
export interface SentSchema {
  readonly schema: PlainMap;
  /** Arguments whose names no provider takes: the name that is sent, and the tool's own. */
  readonly names: ReadonlyMap<string, string>;
  /** Characters of the schema as JSON. */
  readonly size: number;
}

/** In characters. Real ones have less than a tenth. */
const LARGEST = 32_768;
/** How many levels are told: fewer of a schema that is too large with more. */
const DEPTHS = [12, 6, 4, 2];
/** Of what one schema comes to at one depth: a few references can stand for millions of parts. */
const MOST_STEPS = 20_000;
/** Of what is looked at of all schemas of one source. */
const MOST_OF_SOURCE = 400_000;

/** What may still be looked at of the schemas of one source, so that it costs no more than that however many it has. */
export interface Work {
  left: number;
}

export function workOfSource(): Work {
  return { left: MOST_OF_SOURCE };
}

/**
 * The schema of a tool's arguments as every provider takes it, or why it cannot be. A missing one stands for no arguments. What it costs is
 * taken from `work`.
 */
export function sentSchema(given: unknown, work: Work = workOfSource()): SentSchema | { readonly problem: string } {
  const root = given === undefined || given === null || given === true ? {} : given;
  if (!isPlainMap(root)) return { problem: `its input schema is ${Array.isArray(root) ? 'a list' : `a ${typeof root}`}, not a map` };
  for (const deepest of DEPTHS) {
    const sent = sentWithin(root, deepest, work);
    if (sent !== null) return sent;
    if (work.left <= 0) return { problem: 'its input schema, with all before it, takes too long to read' };
  }
  return { problem: `its input schema is larger than ${LARGEST} characters` };
}

/** What a model wrote, by the tool's own names. */
export function ownNames<Value>(
  input: Readonly<Record<string, Value>>,
  names: ReadonlyMap<string, string>,
): Readonly<Record<string, Value>> {
  if (names.size === 0) return input;
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [names.get(name) ?? name, value]));
}

/** null: it is too large. */
function sentWithin(root: PlainMap, deepest: number, work: Work): SentSchema | { readonly problem: string } | null {
  const parts = new Parts(root, deepest, work);
  try {
    const made = parts.root();
    if ('problem' in made) return made;
    const size = JSON.stringify(made.schema).length;
    return size > LARGEST ? null : { ...made, size };
  } catch (error) {
    if (error === TOO_MANY) return null;
    throw error;
  }
}

/** A lone surrogate, which some servers refuse. */
const BROKEN = /\p{Surrogate}/u;

const TOO_MANY = new Error('too many parts');

/** Any value, for providers that want a type. */
const SCALARS: readonly PlainMap[] = [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }];
const ANYTHING: PlainMap = {
  anyOf: [...SCALARS, { type: 'object' }, { type: 'array', items: { anyOf: [...SCALARS, { type: 'object' }] } }],
};

interface At {
  readonly depth: number;
  /** References that lead here. */
  readonly open: readonly string[];
}

class Parts {
  readonly #root: PlainMap;
  readonly #deepest: number;
  readonly #flat: ReturnType<typeof flattener>;
  readonly #work: Work;
  #steps = 0;
  /** Parts that a reference leads to, by its map and place. */
  readonly #known = new Map<object, Map<string, { readonly part: PlainMap | null; readonly steps: number }>>();

  constructor(root: PlainMap, deepest: number, work: Work) {
    this.#root = root;
    this.#deepest = deepest;
    this.#work = work;
    this.#flat = flattener(root, (steps) => {
      work.left -= steps;
      this.#counted(steps);
    });
  }

  /** Combinations are refused at the top: their arguments are told together, with what they demand in words. */
  root(): Omit<SentSchema, 'size'> | { readonly problem: string } {
    const { map, choices, open } = this.#flat(this.#root, []);
    const types = typesOf(map);
    if (types.length > 0 && !types.includes('object')) return { problem: `its arguments are of type ${types.join(' or ')}, not object` };
    let properties = propertiesOf(map);
    const required = new Set(requiredOf(map));
    const demanded: (readonly (readonly string[])[])[] = [];
    for (const choice of choices) {
      const branches = choice.map((each) => this.#flat(each, open)).filter((each) => isObject(each.map));
      if (branches.length === 0) return { problem: 'its arguments must be an object' };
      const inner = branches.flatMap((each) => [propertiesOf(each.map), ...each.choices.flatMap((list) => this.#names(list, each.open))]);
      properties = merged([properties, ...inner]);
      const demands = branches.map((each) => requiredOf(each.map));
      for (const name of demands[0] ?? []) if (demands.every((demand) => demand.includes(name))) required.add(name);
      demanded.push(demands);
    }
    const names = sentNames([...properties.keys()]);
    const sentAs = new Map([...names].map(([sent, own]) => [own, sent]));
    const sent = (own: readonly string[]) => own.map((name) => sentAs.get(name) ?? name);
    const renamed = new Map([...properties].map(([name, each]) => [sentAs.get(name) as string, each]));
    const object = described(this.#object(renamed, sent([...required]), { depth: 0, open }), { ...map, properties: undefined });
    const whole = { type: 'object', properties: {}, ...object };
    const sets = demanded.map((demands) =>
      setsOf(
        demands.map((demand) => sent(demand.filter((name) => !required.has(name)))),
        renamed,
      ),
    );
    return { schema: withWords(whole, sets), names: new Map([...names].filter(([sent, own]) => sent !== own)) };
  }

  /** Of choices within choices only the arguments are told. */
  #names(choice: readonly unknown[], open: readonly string[]): readonly ReadonlyMap<string, unknown>[] {
    return choice.map((each) => propertiesOf(this.#flat(each, open).map));
  }

  /** null: nothing fits to it. */
  part(given: unknown, at: At): PlainMap | null {
    if (given === false) return null;
    if (!isPlainMap(given)) return ANYTHING;
    return typeof given['$ref'] === 'string' ? this.#referred(given, at) : this.#part(given, at);
  }

  #referred(given: PlainMap, at: At): PlainMap | null {
    const places = this.#known.get(given) ?? new Map<string, { readonly part: PlainMap | null; readonly steps: number }>();
    this.#known.set(given, places);
    const place = JSON.stringify([at.depth, at.open]);
    const known = places.get(place);
    if (known !== undefined) {
      this.#counted(known.steps); // what is sent of it grows as if it were made again
      return known.part;
    }
    const before = this.#steps;
    const part = this.#part(given, at);
    places.set(place, { part, steps: this.#steps - before });
    return part;
  }

  #part(given: PlainMap, at: At): PlainMap | null {
    const { map, choices, open } = this.#flat(given, at.open);
    const inner = { depth: at.depth, open };
    const [choice, ...others] = choices;
    if (choice === undefined) return this.#typed(map, inner);
    if (at.depth >= this.#deepest) return described(ANYTHING, map);
    if (isObject(map) && choice.every((each) => isPlainMap(each) && each['properties'] === undefined && each['required'] !== undefined)) {
      const typed = this.#typed({ ...map, type: 'object' }, inner); // it only says which must come together
      return (
        typed &&
        withWords(typed, [
          setsOf(
            choice.map((each) => requiredOf(each as PlainMap)),
            propertiesOf(map),
          ),
        ])
      );
    }
    const { description, title, default: fallback, examples, ...rest } = map;
    const base = { ...rest, ...(others.length > 0 ? { allOf: others.map((anyOf) => ({ anyOf })) } : {}) };
    const options = choice.map((each) => (isPlainMap(each) && Object.keys(base).length > 0 ? { allOf: [base, each] } : each));
    const parts = options.map((each) => this.part(each, { depth: at.depth + 1, open }));
    return described(anyOf(parts), { description, title, default: fallback, examples });
  }

  #typed(map: PlainMap, at: At): PlainMap | null {
    const types = typesOf(map);
    if (types.length === 0) return described(ANYTHING, map);
    const options = types.map((type) => this.#ofType(type, map, at));
    return options.length === 1 ? described(options[0] as PlainMap, map) : described(anyOf(options), map);
  }

  #ofType(type: string, map: PlainMap, at: At): PlainMap {
    if (type === 'object') return this.#object(propertiesOf(map), requiredOf(map), at);
    if (type === 'array') return { type, items: this.#items(map, at), ...bounds(map, ['minItems', 'maxItems']) };
    if (type === 'string') {
      const choices = [...new Set(enumOf(map).filter((each) => typeof each === 'string' && each !== '' && !BROKEN.test(each)))];
      const format = map['format'] === 'date-time' ? { format: 'date-time' } : {};
      return { type, ...(choices.length > 0 ? { enum: choices } : {}), ...format, ...bounds(map, ['minLength', 'maxLength']) };
    }
    return type === 'number' || type === 'integer' ? { type, ...bounds(map, ['minimum', 'maximum']) } : { type };
  }

  #items({ items, prefixItems }: PlainMap, { depth, open }: At): PlainMap {
    const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const all = [...tuple, ...(Array.isArray(items) || items === undefined || items === false ? [] : [items])];
    if (all.length === 0 || depth >= this.#deepest) return { anyOf: [...SCALARS, { type: 'object' }] };
    return anyOf(all.map((each) => this.part(each, { depth: depth + 1, open })));
  }

  #object(given: ReadonlyMap<string, unknown>, required: readonly string[], { depth, open }: At): PlainMap {
    const inner = { depth: depth + 1, open };
    const parts = depth >= this.#deepest ? [] : [...given].map(([name, each]) => [name, this.part(each, inner)] as const);
    const properties = parts.filter(([name, part]) => part !== null && !BROKEN.test(name));
    const known = new Set(properties.map(([name]) => name));
    const demanded = [...new Set(required)].filter((name) => known.has(name));
    return {
      type: 'object',
      ...(properties.length > 0 ? { properties: Object.fromEntries(properties) } : {}),
      ...(demanded.length > 0 ? { required: demanded } : {}),
    };
  }

  #counted(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MOST_STEPS || this.#work.left < 0) throw TOO_MANY;
  }
}

/** One of these: alone, as a provider wants it. */
function anyOf(given: readonly (PlainMap | null)[]): PlainMap {
  const all = given
    .filter((each) => each !== null)
    .flatMap((each) => (Array.isArray(each['anyOf']) ? (each['anyOf'] as readonly PlainMap[]) : [each]));
  const plain = all.filter((each) => each['type'] === 'string' && Array.isArray(each['enum']) && Object.keys(each).length === 2);
  const joined = plain.length > 1 ? [{ type: 'string', enum: [...new Set(plain.flatMap((each) => each['enum']))] }] : plain;
  const options = new Map([...joined, ...all.filter((each) => !plain.includes(each))].map((each) => [JSON.stringify(each), each]));
  const [first, ...others] = options.values();
  return first === undefined ? ANYTHING : others.length === 0 ? first : { anyOf: [first, ...others] };
}

function isObject(map: PlainMap): boolean {
  const types = typesOf(map);
  return types.length === 0 || types.includes('object');
}

function propertiesOf({ properties }: PlainMap): ReadonlyMap<string, unknown> {
  return new Map(isPlainMap(properties) ? Object.entries(properties) : []);
}

function requiredOf({ required }: PlainMap): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

function enumOf(map: PlainMap): readonly unknown[] {
  if (Array.isArray(map['enum'])) return map['enum'];
  return map['const'] === undefined ? [] : [map['const']];
}

/** An argument of several is any of what they say of it. */
function merged(all: readonly ReadonlyMap<string, unknown>[]): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown[]>();
  for (const [name, each] of all.flatMap((properties) => [...properties])) {
    const list = found.get(name);
    if (list === undefined) found.set(name, [each]);
    else list.push(each);
  }
  return new Map([...found].map(([name, list]) => [name, list.length === 1 ? list[0] : { anyOf: list }]));
}

const MOST_SETS = 8;

/** Which of the `known` belong together, in words; empty where nothing is demanded. */
function setsOf(demands: readonly (readonly string[])[], known: ReadonlyMap<string, unknown>): string {
  const named = demands.map((names) => [...new Set(names)].filter((name) => known.has(name)));
  const sets = [...new Set(named.filter((names) => names.length > 0 && names.length <= MOST_SETS).map((names) => names.join(' and ')))];
  return sets.length === 0 || sets.length > MOST_SETS ? '' : `needs ${sets.join(', or ')}`;
}

function bounds(map: PlainMap, names: readonly string[]): PlainMap {
  const fits = (name: string, value: unknown) =>
    name.endsWith('imum') ? Number.isFinite(value) && !isNoBound(value) : Number.isSafeInteger(value) && (value as number) >= 0;
  return Object.fromEntries(names.map((name) => [name, map[name]] as const).filter(([name, value]) => fits(name, value)));
}

const TAKEN = /^[a-zA-Z0-9_.-]{1,64}$/;
const LONGEST = 64;

/** By the name that is sent, distinct; a name that is taken as it is stays whatever the others are. */
function sentNames(own: readonly string[]): ReadonlyMap<string, string> {
  const sent = new Map(own.filter((name) => TAKEN.test(name)).map((name) => [name, name]));
  for (const name of own) {
    if (TAKEN.test(name)) continue;
    const plain = name.replace(/[^a-zA-Z0-9_.-]/gu, '_').slice(0, LONGEST) || '_';
    let free = plain;
    for (let at = 2; sent.has(free); at += 1) free = `${plain.slice(0, LONGEST - 5)}_${at}`;
    sent.set(free, name);
  }
  return sent;
}
