const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a span such as `90s`, `10m`, `2h` or `3d`; null: it is none. */
export function spanOf(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*([smhd])$/.exec(text.trim());
  return found === null ? null : Number(found[1]) * (UNITS[String(found[2])] ?? 0);
}
