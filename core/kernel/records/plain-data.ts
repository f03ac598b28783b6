import type { JsonValue } from '../../contract/index.ts';

/** Freezes a tree of plain data in place. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

/** How deep the arguments of a tool may be: what walks them calls itself, and what carries them between processes is deeper still. */
const DEEPEST_INPUT = 60;

/** What is wrong with the arguments of a tool before anything walks them; null: nothing. Walks level by level itself. */
export function inputProblem(input: unknown): string | null {
  let level: readonly unknown[] = [input];
  for (let depth = 0; depth <= DEEPEST_INPUT; depth++) {
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
    if (level.length === 0) return null;
  }
  return `is nested more than ${DEEPEST_INPUT} levels deep; give it flatter, or as text`;
}

/** JSON with sorted keys: the same text for the same value. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: JsonValue) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

export type PlainMap = Readonly<Record<string, unknown>>;

export function isPlainMap(value: unknown): value is PlainMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `over` laid over `base`, maps key by key, everything else (lists too) whole. Neither is changed. */
export function overlay(base: PlainMap, over: PlainMap): Record<string, unknown> {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = Object.hasOwn(result, key) ? result[key] : undefined;
    if (value === undefined || key === '__proto__') continue;
    result[key] = isPlainMap(value) && isPlainMap(below) ? overlay(below, value) : value;
  }
  return result;
}
