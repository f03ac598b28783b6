/** Bounds of what one rendering may take; beyond them it fails as `prompt_invalid`. */
export const TEXT_LIMIT = 1024 * 1024;
export const LIST_LIMIT = 10_000;
/** Rounds of all loops, and calls, together. */
export const STEP_LIMIT = 100_000;

/** `value` itself. Throws when it is a text or a list beyond the bounds. */
export function bounded<T>(value: T): T {
  if (Array.isArray(value)) atMost(value.length, LIST_LIMIT, 'items in a list');
  else if (isText(value)) atMost(value.length, TEXT_LIMIT, 'characters of text');
  return value;
}

/** A string, or what the engine's filter `safe` makes of one. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' || Object.prototype.isPrototypeOf.call(String.prototype, value as object);
}

/** Throws unless `count` is a number that is not above `limit`. */
export function atMost(count: number, limit: number, what: string): number {
  if (Number.isNaN(count) || count <= limit) return count;
  throw new RangeError(`more than ${limit} ${what}`);
}

/** As the engine's `range`, for at most `LIST_LIMIT` numbers. */
export function range(...given: readonly unknown[]): readonly number[] {
  const [from, to] = given.length < 2 || given[1] === undefined ? [0, Number(given[0])] : [Number(given[0]), Number(given[1])];
  const step = Number(given[2] ?? 1) || 1;
  const count = atMost(Math.max(0, Math.ceil((to - from) / step)), LIST_LIMIT, 'numbers in a range');
  return Number.isNaN(count) ? [] : Array.from({ length: count }, (_, index) => from + index * step);
}
