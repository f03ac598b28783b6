/** Bounds of what one rendering may take; beyond them it fails. */
export const TEXT_LIMIT = 1024 * 1024;
export const LIST_LIMIT = 10_000;
/** Values, rounds and calls together; long texts and lists count for more. */
export const STEP_LIMIT = 500_000;
/** What is evaluated inside what is evaluated: macros that call macros end here, far from the end of the stack. */
const DEPTH_LIMIT = 800;
/** How deep a value may be when it becomes text. */
const VALUE_DEPTH_LIMIT = 100;

/** So many characters or items are one step. */
const STEP_SIZE = 32;
/** A comparison of two characters takes far less than a step. */
const COMPARISONS = 1000;

/** What is left of the steps of one rendering. All throw `RangeError`, in words that end a sentence. */
export class Budget {
  #steps = STEP_LIMIT;
  #depth = 0;

  spend(steps: number): void {
    this.#steps -= Math.max(0, steps) || 0; // what is computed may be negative or no number
    if (this.#steps < 0) throw new RangeError(`more than ${STEP_LIMIT} steps (values, rounds of loops and calls)`);
  }

  /** Before a text of `length` is made. */
  forText(length: number): void {
    atMost(length, TEXT_LIMIT, 'characters of text');
    this.spend(length / STEP_SIZE);
  }

  /** Before a list of `length` is made or walked. */
  forList(length: number): void {
    atMost(length, LIST_LIMIT, 'items in a list');
    this.spend(length / STEP_SIZE);
  }

  /** Before `part` is looked for in `text`: at worst each character is compared with each. */
  forSearch(text: string, part: string): void {
    this.spend(text.length / STEP_SIZE + (text.length * part.length) / COMPARISONS);
  }

  deeper<T>(work: () => T): T {
    this.spend(1);
    if (++this.#depth > DEPTH_LIMIT) throw new RangeError(`parts and macros inside each other deeper than ${DEPTH_LIMIT}`);
    try {
      return work();
    } finally {
      this.#depth -= 1;
    }
  }

  /** Throws for a value that is deeper than anybody prints, such as a list within itself. */
  forDepth(depth: number): void {
    this.spend(1);
    if (depth > VALUE_DEPTH_LIMIT) throw new RangeError(`a list or map deeper than ${VALUE_DEPTH_LIMIT}`);
  }
}

/** Throws unless `count` is a number that is not above `limit`. */
export function atMost(count: number, limit: number, what: string): number {
  if (Number.isNaN(count) || count <= limit) return count;
  throw new RangeError(`more than ${limit} ${what}`);
}

/**
 * What a template computes with: texts, numbers, booleans, null, undefined, lists of these, maps of these, and `Callable`s. Never a function
 * and never an object with a class, so that nothing of the program can be reached from one.
 */
export type Value = unknown;

/** What a template may call: a macro, a method of a text or list, `range` and its like. */
export class Callable {
  readonly call: (args: readonly Value[], named: ReadonlyMap<string, Value>) => Value;

  constructor(call: (args: readonly Value[], named: ReadonlyMap<string, Value>) => Value) {
    this.call = call;
  }
}

export type ValueMap = Readonly<Record<string, Value>>;

export function isList(value: Value): value is Value[] {
  return Array.isArray(value);
}

export function isMap(value: Value): value is ValueMap {
  return typeof value === 'object' && value !== null && !isList(value) && !(value instanceof Callable);
}

/** A map without a prototype: `constructor` in it is a key as any other. */
export function mapOf(entries: Iterable<readonly [string, Value]>): ValueMap {
  const map: Record<string, Value> = Object.create(null);
  for (const [key, value] of entries) map[key] = value;
  return map;
}

/** As JavaScript prints it, within the budget: a list as its items with commas between. */
export function textOf(value: Value, budget: Budget, depth = 0): string {
  if (typeof value === 'string') return value;
  if (isList(value)) return joined(value, ',', budget, depth);
  if (value instanceof Callable) throw new TypeError('a macro or function is not text; call it');
  return isMap(value) ? '[object Object]' : String(value);
}

export function joined(list: readonly Value[], separator: string, budget: Budget, depth = 0): string {
  budget.forDepth(depth);
  budget.forList(list.length);
  let length = separator.length * Math.max(0, list.length - 1);
  const texts = list.map((item) => {
    const text = item === null || item === undefined ? '' : textOf(item, budget, depth + 1);
    length += text.length;
    atMost(length, TEXT_LIMIT, 'characters of text'); // before anything is put together
    return text;
  });
  budget.forText(length);
  return texts.join(separator);
}

/** As JSON, within the budget. */
export function jsonOf(value: Value, indent: string, budget: Budget): string {
  let length = 0;
  const counted = (text: string): string => {
    length += text.length;
    atMost(length, TEXT_LIMIT, 'characters of text');
    return text;
  };
  const write = (each: Value, depth: number): string => {
    budget.forDepth(depth);
    const inner = indent === '' ? '' : `\n${indent.repeat(depth + 1)}`;
    const outer = indent === '' ? '' : `\n${indent.repeat(depth)}`;
    const between = (open: string, parts: readonly string[], close: string): string =>
      parts.length === 0 ? counted(open + close) : `${counted(open)}${inner}${parts.join(counted(`,${inner}`))}${counted(outer + close)}`;
    if (isList(each)) {
      budget.forList(each.length);
      return between('[', each.map((item) => write(item ?? null, depth + 1)), ']'); // prettier-ignore
    }
    if (isMap(each)) {
      const entries = Object.entries(each).filter(([, item]) => item !== undefined && !(item instanceof Callable));
      const colon = indent === '' ? ':' : ': ';
      return between('{', entries.map(([key, item]) => `${counted(JSON.stringify(key))}${colon}${write(item, depth + 1)}`), '}'); // prettier-ignore
    }
    if (typeof each === 'string') budget.forText(each.length);
    return counted(JSON.stringify(each instanceof Callable ? null : each) ?? 'null');
  };
  const text = write(value, 0);
  budget.forText(text.length);
  return text;
}

/** A list or map as the text that operators take it for; everything else as it is. */
export function plainOf(value: Value, budget: Budget): string | number | boolean | null | undefined {
  return typeof value === 'object' && value !== null ? textOf(value, budget) : (value as string | number | boolean | null | undefined);
}

export function numberOf(value: Value, budget: Budget): number {
  return Number(plainOf(value, budget));
}

/** `target.key`: an item of a list, what a map has itself, or one of the methods below. undefined for all else. */
export function memberOf(target: Value, key: Value, budget: Budget): Value {
  if (target === undefined || target === null) return undefined;
  const name = textOf(key, budget);
  if (typeof target === 'string') {
    if (name === 'length') return target.length;
    return /^\d{1,9}$/.test(name) ? target[Number(name)] : methodOf(TEXT_METHODS, target, name, budget);
  }
  if (typeof target === 'number') return methodOf(NUMBER_METHODS, target, name, budget);
  if (isList(target)) {
    if (name === 'length') return target.length;
    return /^\d{1,9}$/.test(name) ? target[Number(name)] : methodOf(LIST_METHODS, target, name, budget);
  }
  return isMap(target) && Object.hasOwn(target, name) ? target[name] : undefined;
}

type Method<T> = (target: T, args: readonly Value[], budget: Budget) => Value;

function methodOf<T>(methods: ReadonlyMap<string, Method<T>>, target: T, name: string, budget: Budget): Callable | undefined {
  const method = methods.get(name);
  return method && new Callable((args) => method(target, args, budget));
}

/** A number argument; undefined where it is left out. */
function count(value: Value, budget: Budget): number | undefined {
  return value === undefined ? undefined : numberOf(value, budget);
}

/** A method of texts whose other arguments are numbers and whose result is no longer than the text. */
function within(run: (text: string, ...counts: (number | undefined)[]) => Value): Method<string> {
  return (text, args, budget) => {
    budget.forText(text.length);
    return run(text, count(args[0], budget), count(args[1], budget));
  };
}

/** A method of texts that looks for another. */
function search(run: (text: string, part: string, from?: number) => Value): Method<string> {
  return (text, args, budget) => {
    const part = textOf(args[0], budget);
    budget.forSearch(text, part);
    return run(text, part, count(args[1], budget));
  };
}

function padded(text: string, args: readonly Value[], budget: Budget): readonly [number, string] {
  const length = atMost(numberOf(args[0], budget), TEXT_LIMIT, 'characters of text');
  budget.forText(Math.max(text.length, length || 0));
  return [length, args[1] === undefined ? ' ' : textOf(args[1], budget)];
}

const TEXT_METHODS: ReadonlyMap<string, Method<string>> = new Map<string, Method<string>>([
  ['at', within((text, index = 0) => text.at(index))],
  ['charAt', within((text, index = 0) => text.charAt(index))],
  ['concat', (text, args, budget) => joined([text, ...args.map((each) => textOf(each, budget))], '', budget)],
  ['endsWith', search((text, part, end) => text.endsWith(part, end))],
  ['includes', search((text, part, from) => text.includes(part, from))],
  ['indexOf', search((text, part, from) => text.indexOf(part, from))],
  ['lastIndexOf', search((text, part, from) => text.lastIndexOf(part, from))],
  ['padEnd', (text, args, budget) => text.padEnd(...padded(text, args, budget))],
  ['padStart', (text, args, budget) => text.padStart(...padded(text, args, budget))],
  ['repeat', (text, args, budget) => repeated(text, numberOf(args[0], budget), budget)],
  ['replace', (text, args, budget) => replaced(text, { part: textOf(args[0], budget), by: textOf(args[1], budget), most: 1 }, budget)],
  ['replaceAll', (text, args, budget) => replaced(text, { part: textOf(args[0], budget), by: textOf(args[1], budget) }, budget)],
  ['slice', within((text, from, to) => text.slice(from, to))],
  ['split', split],
  ['startsWith', search((text, part, from) => text.startsWith(part, from))],
  ['substring', within((text, from = 0, to) => text.substring(from, to))],
  ['toLowerCase', within((text) => text.toLowerCase())],
  ['toString', (text) => text],
  ['toUpperCase', within((text) => text.toUpperCase())],
  ['trim', within((text) => text.trim())],
  ['trimEnd', within((text) => text.trimEnd())],
  ['trimStart', within((text) => text.trimStart())],
]);

const NUMBER_METHODS: ReadonlyMap<string, Method<number>> = new Map<string, Method<number>>([
  ['toFixed', (value, args, budget) => value.toFixed(count(args[0], budget))],
  ['toString', (value, args, budget) => value.toString(count(args[0], budget))],
]);

const LIST_METHODS: ReadonlyMap<string, Method<Value[]>> = new Map<string, Method<Value[]>>([
  ['at', (list, args, budget) => list.at(count(args[0], budget) ?? 0)],
  ['concat', (list, args, budget) => listOf(list.concat(...args.map((each) => (isList(each) ? listOf(each, budget) : [each]))), budget)],
  ['includes', (list, args, budget) => listOf(list, budget).includes(args[0])],
  ['indexOf', (list, args, budget) => listOf(list, budget).indexOf(args[0])],
  ['join', (list, args, budget) => joined(list, args[0] === undefined ? ',' : textOf(args[0], budget), budget)],
  ['lastIndexOf', (list, args, budget) => listOf(list, budget).lastIndexOf(args[0])],
  ['pop', (list) => list.pop()],
  [
    'push',
    (list, args, budget) => {
      budget.forList(list.length + args.length);
      return list.push(...args);
    },
  ],
  ['reverse', (list, _args, budget) => listOf(list, budget).reverse()],
  ['slice', (list, args, budget) => listOf(list, budget).slice(count(args[0], budget), count(args[1], budget))],
  ['sort', (list, _args, budget) => sortInPlace(list, budget)],
  ['toString', (list, _args, budget) => textOf(list, budget)],
]);

/** The list itself, counted. */
export function listOf(list: Value[], budget: Budget): Value[] {
  budget.forList(list.length);
  return list;
}

export function repeated(text: string, times: number, budget: Budget): string {
  budget.forText(text.length * atMost(times, TEXT_LIMIT / Math.max(1, text.length), 'repetitions'));
  return text.repeat(times);
}

interface Replacement {
  readonly part: string;
  readonly by: string;
  readonly most?: number;
}

/** The first `most` places of `part` replaced; as text: no character of `by` means anything. An empty `part` is between any two characters. */
export function replaced(text: string, { part, by, most = Infinity }: Replacement, budget: Budget): string {
  budget.forSearch(text, part);
  const pieces: string[] = [];
  let end = 0;
  let length = text.length;
  let found = text.indexOf(part);
  while (found >= 0 && pieces.length < most) {
    pieces.push(text.slice(end, found));
    length += by.length - part.length;
    atMost(length, TEXT_LIMIT, 'characters of text');
    budget.spend(1);
    end = found + part.length;
    const next = part === '' ? end + 1 : end;
    found = next > text.length ? -1 : text.indexOf(part, next);
  }
  budget.forText(length);
  return pieces.length === 0 ? text : `${pieces.join(by)}${by}${text.slice(end)}`;
}

function split(text: string, args: readonly Value[], budget: Budget): Value[] {
  if (args[0] === undefined) return [text];
  const separator = textOf(args[0], budget);
  budget.forSearch(text, separator);
  const most = count(args[1], budget);
  return listOf(text.split(separator, Math.min(most ?? Infinity, LIST_LIMIT + 1)), budget);
}

/** As JavaScript sorts: by text. */
function sortInPlace(list: Value[], budget: Budget): Value[] {
  const keyed = list.map((value) => ({ value, text: value === undefined ? '' : textOf(value, budget, 1) }));
  budget.spend(list.length * 16);
  keyed.sort((a, b) => {
    budget.spend(Math.min(a.text.length, b.text.length) / COMPARED);
    return a.text < b.text ? -1 : a.text > b.text ? 1 : 0;
  });
  for (const [index, { value }] of keyed.entries()) list[index] = value;
  return list;
}

/** Characters that two texts of a sorting may have in common for one step. */
const COMPARED = 1000;
