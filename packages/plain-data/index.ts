import { createHash } from 'node:crypto';

/** Freezes a tree of plain data in place. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

/** JSON with sorted keys: the same text for the same value. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isPlainMap(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

export type PlainMap = Readonly<Record<string, unknown>>;

export function isPlainMap(value: unknown): value is PlainMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const NONE: PlainMap = {};

/** The value's fields; empty for a value that has none. */
export function fieldsOf(value: unknown): PlainMap {
  return typeof value === 'object' && value !== null ? (value as PlainMap) : NONE;
}

/** undefined: not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // the parser's error says less than "not JSON"
  }
}

/** Whether maps and lists are nested at most `levels` deep and have at most `parts` values in all. */
export function isBounded(value: unknown, most: { readonly levels: number; readonly parts: number }): boolean {
  let level: readonly unknown[] = [value];
  let parts = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > most.levels + 1) return false;
    const below: unknown[] = [];
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue;
      const values: readonly unknown[] = Array.isArray(each) ? each : Object.values(each);
      parts += values.length;
      if (parts > most.parts) return false;
      for (const part of values) below.push(part);
    }
    level = below;
  }
  return true;
}

/** `base` with the values of `over`. Maps are merged key by key, everything else (lists too) is replaced. Changes neither. */
export function overlay(base: PlainMap, over: PlainMap): Record<string, unknown> {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = Object.hasOwn(result, key) ? result[key] : undefined;
    if (value === undefined || key === '__proto__') continue;
    result[key] = isPlainMap(value) && isPlainMap(below) ? overlay(below, value) : value;
  }
  return result;
}

/** Sets `value` as the newest entry, and drops the oldest beyond `limit`. */
export function keepNewest<T>(map: Map<string, T>, key: string, value: T, limit: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= limit) return;
    map.delete(oldest);
  }
}

/** The digest in hex; a text counts as UTF-8. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
