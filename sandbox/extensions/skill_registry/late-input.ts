import type { z } from 'pith';

/**
 * A schema that is made when it is needed. What `plain` recognises as right passes without it, and so without loading zod, which would
 * cost a process that answers one question more than the answer; null leaves the input to the schema.
 */
export function lateInput<Schema extends z.ZodType>(
  make: () => Schema,
  plain: (input: Readonly<Record<string, unknown>>) => z.output<Schema> | null,
): Schema {
  let schema: Schema | undefined;
  const made = (): Schema => (schema ??= make());
  const safeParse = (input: unknown): unknown => {
    const data = typeof input === 'object' && input !== null ? plain(input as Readonly<Record<string, unknown>>) : null;
    return data === null ? made().safeParse(input) : { success: true, data };
  };
  return new Proxy({} as Schema, {
    get: (_, name) => (name === 'safeParse' ? safeParse : (Reflect.get(made(), name) as unknown)),
    has: (_, name) => name === 'safeParse' || Reflect.has(made(), name),
  });
}

/** True when `input` has no other keys than these. */
export function hasOnly(input: Readonly<Record<string, unknown>>, keys: readonly string[]): boolean {
  return Object.keys(input).every((key) => keys.includes(key));
}

/** `value`, `fallback` where it is absent, or null when it is no whole number from `min` to `max`. */
export function wholeNumber(value: unknown, fallback: number, min: number, max: number): number | null {
  if (value === undefined) return fallback;
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max ? (value as number) : null;
}
