const BOOTSTRAPS = 2000;

/** The bounds between which 95 of 100 resampled means lie. */
export function interval(values: readonly number[]): [low: number, high: number] {
  const random = generator(1);
  const means = Array.from({ length: BOOTSTRAPS }, () => {
    let sum = 0;
    for (let count = values.length; count > 0; count--) sum += values[Math.floor(random() * values.length)]!;
    return sum / Math.max(1, values.length);
  });
  return [quantile(means, 0.025), quantile(means, 0.975)];
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

export function quantile(values: readonly number[], at: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * at)] ?? 0;
}

export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = generator(seed);
  return items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

/** Mulberry32: the same numbers on every run. */
export function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
