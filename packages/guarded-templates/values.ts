/** Limits of one rendering; a rendering that exceeds one fails. This one is in characters. */
const TEXT_LIMIT = 1024 * 1024;
const LIST_LIMIT = 10_000;
/** How many parts may be evaluated; long texts and lists count for more. */
const STEP_LIMIT = 500_000;
/** How deep lists and maps may nest when they are printed. */
const DEPTH_LIMIT = 100;

/** Characters or items per step. */
const STEP_SIZE = 32;
/** Comparisons of two characters per step: each takes far less than a step. */
const COMPARISONS = 1000;

/** The remaining steps of one rendering. Every method throws `RangeError` with a message that ends a sentence. */
export class Budget {
  #steps = STEP_LIMIT;

  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new RangeError(`it takes more than ${STEP_LIMIT} steps (values and rounds of loops)`);
  }

  /** Call before making a text of `length`. */
  forText(length: number): void {
    checkLength(length);
    this.spend(length / STEP_SIZE);
  }

  /** Call before making or walking a list of `length`. */
  forList(length: number): void {
    if (length > LIST_LIMIT) throw new RangeError(`more than ${LIST_LIMIT} items in a list`);
    this.spend(length / STEP_SIZE);
  }

  /** Call before searching `part` in `text`: at worst each character is compared with each. */
  forSearch(text: string, part: string): void {
    this.spend(text.length / STEP_SIZE + (text.length * part.length) / COMPARISONS);
  }

  /** Call before comparing two texts. */
  forComparison(text: string): void {
    this.spend(text.length / COMPARISONS);
  }
}

export function checkLength(length: number): void {
  if (length > TEXT_LIMIT) throw new RangeError(`more than ${TEXT_LIMIT} characters of text`);
}

/**
 * A value in a template: text, number, boolean, null, undefined, or a list or map of these. Never a function or an instance of a class, so
 * that a template reaches nothing of the program. Values never change once made, so none can contain itself.
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

/** A map without a prototype: `constructor` is a key like any other. */
export function mapOf(entries: Iterable<readonly [string, Value]>): ValueMap {
  const map: Record<string, Value> = Object.create(null);
  for (const [key, value] of entries) map[key] = value;
  return map;
}

/** The value as printed: `true`, `none`, lists and maps as JSON. Throws for undefined. */
export function textOf(value: Value, budget: Budget): string {
  if (value === undefined) throw new TypeError('it has no value to print');
  if (typeof value === 'object' && value !== null) return jsonOf(value, 0, budget);
  return value === null ? 'none' : String(value);
}

/** The value as JSON. Counts the size before making any of it, since a list may contain the same list many times. */
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

/** Throws for a value that is not a finite number. */
export function numberOf(value: Value): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && Number.isFinite(number)) return number;
  throw new TypeError(`${spoken(value)} is not a number`);
}

/** As in Jinja2: empty, zero and undefined are false. */
export function isTrue(value: Value): boolean {
  return isMap(value) ? Object.keys(value).length > 0 : isList(value) ? value.length > 0 : Boolean(value);
}

/** A number equals its text, because the variables of a template are texts. */
export function isEqual(left: Value, right: Value, budget: Budget): boolean {
  if (isMap(left) || isMap(right) || isList(left) || isList(right))
    throw new TypeError('lists and maps cannot be compared; compare what is in them, or ask {% if list %}');
  const [a, b] = [left ?? null, right ?? null];
  if (a === null || b === null) return a === b;
  const text = String(a);
  budget.forComparison(text);
  return text === String(b);
}

/** Compares two texts by their letters, everything else as numbers. */
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

/** `target[key]`: an own entry of a map, an item of a list, a character of a text, or the length. undefined for all else. */
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
  if (items === null) throw new TypeError(`${spoken(value)} is not a list, map or text`);
  budget.forList(items.length);
  return items;
}

export function joined(items: readonly Value[], separator: string, budget: Budget): string {
  budget.forList(items.length);
  let length = separator.length * Math.max(0, items.length - 1);
  const texts = items.map((item) => {
    const text = textOf(item, budget);
    length += text.length;
    checkLength(length); // checked before the text is joined
    return text;
  });
  budget.forText(length);
  return texts.join(separator);
}

/** A value as it appears in a message. */
export function spoken(value: Value): string {
  if (value === undefined) return 'what has no value';
  if (isList(value)) return 'a list';
  if (isMap(value)) return 'a map';
  return typeof value === 'string' ? `the text ${JSON.stringify(value.slice(0, 40))}` : value === null ? 'none' : String(value);
}
