import { isPlainMap, type PlainMap } from '@pith/plain-data';
import { withNote } from './words.ts';

/** A schema without references and `allOf`: the common part, and lists of alternatives. */
export interface Flattened {
  readonly map: PlainMap;
  readonly choices: readonly (readonly unknown[])[];
  /** References that lead here; another one to the same place is recursion. */
  readonly open: readonly string[];
}

const MOST_BRANCHES = 100;
/** How many references and `allOf` are followed within one place. */
const MOST_WITHIN = 50;

/** Resolves within `root`. `counted` gets the amount of work, and throws when it is too much. */
export function flattener(
  root: PlainMap,
  counted: (steps: number) => void,
): (given: unknown, open: readonly string[], within?: number) => Flattened {
  return function flat(given, open, within = 0): Flattened {
    counted(1);
    if (!isPlainMap(given) || within > MOST_WITHIN) return { map: given === false ? { not: {} } : {}, choices: [], open };
    counted(weightOf(given) + weightOf(given['properties']) + weightOf(given['required']) + weightOf(given['enum']));
    const { $ref, allOf, anyOf, oneOf, then: ifSo, else: ifNot, ...own } = given;
    const referred = $ref === undefined ? null : target(root, $ref);
    const isAgain = typeof $ref === 'string' && open.includes($ref);
    let found: Flattened = {
      map: isAgain ? shallow(referred) : referred === null && $ref !== undefined ? withNote({}, '$ref', $ref) : {},
      choices: [],
      open: typeof $ref === 'string' ? [...open, $ref] : open,
    };
    if (referred !== null && !isAgain) found = joined(found, flat(referred, found.open, within + 1));
    for (const each of Array.isArray(allOf) ? allOf.slice(0, MOST_BRANCHES) : []) found = joined(found, flat(each, found.open, within + 1));
    const choices = [anyOf, oneOf].filter((each) => Array.isArray(each)).map((each) => each.filter((option) => !isNothing(option)));
    const whole = joined(found, { map: own, choices: choices.filter((each) => each.length > 0), open: found.open });
    const optional = [ifSo, ifNot].map((each) => (isPlainMap(each) ? each['properties'] : undefined)).filter(isPlainMap);
    const { properties } = whole.map;
    if (optional.length === 0) return whole;
    return {
      ...whole,
      map: { ...whole.map, properties: { ...optional[0], ...optional[1], ...(isPlainMap(properties) ? properties : {}) } },
    };
  };
}

/** Merges two schemas that both apply; where both set a keyword, `over` wins. */
function joined(base: Flattened, over: Flattened): Flattened {
  const properties =
    isPlainMap(base.map['properties']) && isPlainMap(over.map['properties'])
      ? bothProperties(base.map['properties'], over.map['properties'])
      : undefined;
  const required = [base.map['required'], over.map['required']].filter((each) => Array.isArray(each)).flat();
  const stated = Object.fromEntries(Object.entries(over.map).filter(([, value]) => value !== undefined));
  return {
    map: { ...base.map, ...stated, ...(properties ? { properties } : {}), ...(required.length > 0 ? { required } : {}) },
    choices: [...base.choices, ...over.choices],
    open: over.open,
  };
}

function bothProperties(base: PlainMap, over: PlainMap): PlainMap {
  const both = Object.entries(over).map(
    ([name, each]) => [name, Object.hasOwn(base, name) ? { allOf: [base[name], each] } : each] as const,
  );
  return { ...base, ...Object.fromEntries(both) };
}

const CHARACTERS_A_STEP = 64;

/** The weight of its names and texts, not of nested values. */
function weightOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let characters = 0;
  const entries = Object.entries(value);
  for (const [name, each] of entries) characters += name.length + (typeof each === 'string' ? each.length : 0);
  return entries.length + Math.floor(characters / CHARACTERS_A_STEP);
}

/** The schema at the place where recursion begins, without its parts. */
function shallow(schema: unknown): PlainMap {
  const { type, description } = isPlainMap(schema) ? schema : {};
  return { type: type ?? 'object', description };
}

/** No value fits: generators write such an option for a value that may be left out. */
function isNothing(option: unknown): boolean {
  return option === false || (isPlainMap(option) && isPlainMap(option['not']) && Object.keys(option['not']).length === 0);
}

/** The target of a local reference; null for one that leads elsewhere or nowhere. */
function target(root: PlainMap, reference: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return null;
  let at: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return null;
    at = (at as PlainMap)[name];
  }
  return at;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step; // a percent sign that encodes nothing
  }
}
