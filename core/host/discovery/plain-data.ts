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
