import { isPlainMap, type PlainMap } from '@pith/plain-data';
import { flattener } from './flattened.ts';
import { typesOf } from './types.ts';
import { described, isNoBound, withWords } from './words.ts';

/** A tool's arguments as the model gets them. */
export interface SentSchema {
  readonly schema: PlainMap;
  /** Arguments whose names providers refuse: the sent name, and the tool's own. */
  readonly names: ReadonlyMap<string, string>;
  /** Characters of the schema as JSON. */
  readonly size: number;
}

/** In characters. Real schemas have less than a tenth. */
const LARGEST = 32_768;
/** How many levels are sent; a schema that is too large gets fewer. */
const DEPTHS = [12, 6, 4, 2];
/** The limit of one schema at one depth: a few references can expand to millions of parts. */
const MOST_STEPS = 20_000;
/** The limit of all schemas of one source. */
const MOST_OF_SOURCE = 400_000;

/** The remaining work for the schemas of one source, however many it has. */
export interface Work {
  left: number;
}

export function workOfSource(): Work {
  return { left: MOST_OF_SOURCE };
}

/**
 * A tool's argument schema in a form that every provider accepts, or why there is none. A missing schema means no arguments. Its cost is
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

/** The model's input with the tool's own argument names. */
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

/** Any value, for providers that require a type. */
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
  /** Results for references, by their map and place. */
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

  /** Providers refuse combinations at the top, so the arguments of all alternatives are sent together, with the requirements in words. */
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

  /** Of nested alternatives, only the arguments are sent. */
  #names(choice: readonly unknown[], open: readonly string[]): readonly ReadonlyMap<string, unknown>[] {
    return choice.map((each) => propertiesOf(this.#flat(each, open).map));
  }

  /** null: no value fits. */
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
      this.#counted(known.steps); // the sent schema grows as if the part were built again
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
      const typed = this.#typed({ ...map, type: 'object' }, inner); // it only says which arguments must come together
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

/** Any of these alternatives; a single one as itself, as providers want it. */
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

/** An argument of several alternatives may be what any of them says. */
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

/** The required sets among the `known` arguments, in words; empty where nothing is required. */
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

/** Own names by their sent names, all distinct; a name that is accepted unchanged stays, whatever the others are. */
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
