/** Bounds of what one rendering may take; beyond them it fails. */
const TEXT_LIMIT = 1024 * 1024;
const LIST_LIMIT = 10_000;
/** Parts that are evaluated; long texts and lists count for more. */
const STEP_LIMIT = 500_000;
/** How deep lists and maps may be when they become text. */
const DEPTH_LIMIT = 100;

/** So many characters or items are one step. */
const STEP_SIZE = 32;
/** A comparison of two characters takes far less than a step. */
const COMPARISONS = 1000;

/** What is left of the steps of one rendering. All throw `RangeError`, in words that end a sentence. */
export class Budget {
  #steps = STEP_LIMIT;

  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new RangeError(`it takes more than ${STEP_LIMIT} steps (values and rounds of loops)`);
  }

  /** Before a text of `length` is made. */
  forText(length: number): void {
    checkLength(length);
    this.spend(length / STEP_SIZE);
  }

  /** Before a list of `length` is made or walked. */
  forList(length: number): void {
    if (length > LIST_LIMIT) throw new RangeError(`more than ${LIST_LIMIT} items in a list`);
    this.spend(length / STEP_SIZE);
  }

  /** Before `part` is looked for in `text`: at worst each character is compared with each. */
  forSearch(text: string, part: string): void {
    this.spend(text.length / STEP_SIZE + (text.length * part.length) / COMPARISONS);
  }

  /** Before two texts are compared. */
  forComparison(text: string): void {
    this.spend(text.length / COMPARISONS);
  }
}

export function checkLength(length: number): void {
  if (length > TEXT_LIMIT) throw new RangeError(`more than ${TEXT_LIMIT} characters of text`);
}

/**
 * What a template computes with: texts, numbers, booleans, null, undefined, lists and maps of these. Never a function and never an object
 * with a class, so that nothing of the program can be reached from one; and nothing changes once it is made, so that none holds itself.
 */
export type Value = string | number | boolean | null | undefined | readonly Value[] | ValueMap;
export interface ValueMap {
  readonly [key: string]: Value;
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

export function isMap(value: Value): value is ValueMap {
  return typeof value === 'object' && value !== null && !isList(value);
}

/** A map without a prototype: `constructor` in it is a key as any other. */
export function mapOf(entries: Iterable<readonly [string, Value]>): ValueMap {
  const map: Record<string, Value> = Object.create(null);
  for (const [key, value] of entries) map[key] = value;
  return map;
}

/** As it is printed: `true`, `none`, a list or map as JSON. Throws for what is not there. */
export function textOf(value: Value, budget: Budget): string {
  if (value === undefined) throw new TypeError('it has no value to print');
  if (typeof value === 'object' && value !== null) return jsonOf(value, 0, budget);
  return value === null ? 'none' : String(value);
}

/** As JSON. How large it becomes is counted before any of it is made: a list may hold the same list often. */
export function jsonOf(value: Value, indent: number, budget: Budget): string {
  let length = 0;
  const count = (each: Value, depth: number): void => {
    if (depth > DEPTH_LIMIT) throw new RangeError(`a list or map deeper than ${DEPTH_LIMIT}`);
    budget.spend(1);
    length += indent * depth + (typeof each === 'string' ? each.length : 4);
    checkLength(length);
    if (isList(each)) for (const item of each) count(item, depth + 1);
    else if (isMap(each))
      for (const [key, item] of Object.entries(each)) {
        length += key.length;
        count(item, depth + 1);
      }
  };
  count(value, 0);
  const text = JSON.stringify(value ?? null, null, indent);
  budget.forText(text.length);
  return text;
}

/** Throws for what is no number, and for what is beyond all of them. */
export function numberOf(value: Value): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && Number.isFinite(number)) return number;
  throw new TypeError(`${spoken(value)} is not a number`);
}

/** As in Jinja2: what is empty, zero or not there is false. */
export function isTrue(value: Value): boolean {
  return isMap(value) ? Object.keys(value).length > 0 : isList(value) ? value.length > 0 : Boolean(value);
}

/** A number equals the text of it, because what a template is given is text. */
export function isEqual(left: Value, right: Value, budget: Budget): boolean {
  if (isMap(left) || isMap(right) || isList(left) || isList(right))
    throw new TypeError('lists and maps cannot be compared; compare what is in them, or ask {% if list %}');
  const [a, b] = [left ?? null, right ?? null];
  if (a === null || b === null) return a === b;
  const text = String(a);
  budget.forComparison(text);
  return text === String(b);
}

/** Two texts by their letters, everything else as numbers. */
export function isLess(left: Value, right: Value, budget: Budget): boolean {
  if (typeof left !== 'string' || typeof right !== 'string') return numberOf(left) < numberOf(right);
  budget.forComparison(left);
  return left < right;
}

export function sumOf(left: Value, right: Value, budget: Budget): Value {
  if (typeof left === 'string' && typeof right === 'string') return joined([left, right], '', budget);
  if (typeof left === 'number' && typeof right === 'number') return numberOf(left + right);
  if (!isList(left) || !isList(right))
    throw new TypeError(`'+' takes two numbers, texts or lists, not ${spoken(left)} and ${spoken(right)}; put others together with ~`);
  budget.forList(left.length + right.length);
  return [...left, ...right];
}

export function isIn(value: Value, whole: Value, budget: Budget): boolean {
  if (isList(whole)) return whole.some((item) => isEqual(value, item, budget));
  const part = textOf(value, budget);
  if (isMap(whole)) return Object.hasOwn(whole, part);
  if (typeof whole !== 'string') throw new TypeError(`'in' looks into a list, a map or a text, and not into ${spoken(whole)}`);
  budget.forSearch(whole, part);
  return whole.includes(part);
}

/** `target[key]`: what a map has itself, an item of a list, a character of a text, or how many there are. undefined for all else. */
export function memberOf(target: Value, key: Value): Value {
  if (isMap(target)) return typeof key === 'string' && Object.hasOwn(target, key) ? target[key] : undefined;
  if (!isList(target) && typeof target !== 'string') return undefined;
  if (key === 'length') return target.length;
  return typeof key === 'number' ? target.at(key) : undefined;
}

/** The items of a list, the keys of a map, the characters of a text. */
export function itemsOf(value: Value, budget: Budget): readonly Value[] {
  if (typeof value === 'string') budget.forList(value.length);
  const items = isList(value) ? value : isMap(value) ? Object.keys(value) : typeof value === 'string' ? [...value] : null;
  if (items === null) throw new TypeError(`${spoken(value)} is no list, map or text`);
  budget.forList(items.length);
  return items;
}

export function joined(items: readonly Value[], separator: string, budget: Budget): string {
  budget.forList(items.length);
  let length = separator.length * Math.max(0, items.length - 1);
  const texts = items.map((item) => {
    const text = textOf(item, budget);
    length += text.length;
    checkLength(length); // before anything is put together
    return text;
  });
  budget.forText(length);
  return texts.join(separator);
}

/** A value in a sentence. */
export function spoken(value: Value): string {
  if (value === undefined) return 'what has no value';
  if (isList(value)) return 'a list';
  if (isMap(value)) return 'a map';
  return typeof value === 'string' ? `the text ${JSON.stringify(value.slice(0, 40))}` : value === null ? 'none' : String(value);
}
