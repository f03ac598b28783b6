/**
 * An immutable map whose copies share their keys: replacing a few values costs a copy of one array, not of a hash table. Its order is
 * that of the entries it was made from.
 */
export class RowMap<V> implements ReadonlyMap<string, V> {
  readonly #places: ReadonlyMap<string, number>;
  readonly #values: readonly V[];

  private constructor(places: ReadonlyMap<string, number>, values: readonly V[]) {
    this.#places = places;
    this.#values = values;
  }

  static of<V>(entries: ReadonlyMap<string, V>): RowMap<V> {
    const places = new Map<string, number>();
    for (const key of entries.keys()) places.set(key, places.size);
    return new RowMap(places, [...entries.values()]);
  }

  get size(): number {
    return this.#values.length;
  }

  get(key: string): V | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#values[place];
  }

  has(key: string): boolean {
    return this.#places.has(key);
  }

  keys(): MapIterator<string> {
    return this.#places.keys() as MapIterator<string>;
  }

  values(): MapIterator<V> {
    return this.#values[Symbol.iterator]() as unknown as MapIterator<V>;
  }

  *entries(): MapIterator<[string, V]> {
    for (const [key, place] of this.#places) yield [key, this.#values[place] as V];
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }

  forEach(run: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, place] of this.#places) run(this.#values[place] as V, key, this);
  }

  /** The same keys in the same order, with these values instead of the earlier ones. Throws for a key that it does not have. */
  with(values: ReadonlyMap<string, V>): RowMap<V> {
    const next = [...this.#values];
    for (const [key, value] of values) {
      const place = this.#places.get(key);
      if (place === undefined) throw new RangeError(`no row '${key}'`);
      next[place] = value;
    }
    return new RowMap(this.#places, next);
  }

  /** True when both have the same keys because one was made from the other. */
  hasKeysOf(other: ReadonlyMap<string, unknown>): boolean {
    return other instanceof RowMap && this.#places === other.#places;
  }
}
