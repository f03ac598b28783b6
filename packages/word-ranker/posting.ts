/** How often a term occurs in each field of each document: document numbers ascending, counts packed into one word. */
export class Posting {
  /** document, packed counts, document, packed counts, … */
  entries: Uint32Array;
  length: number;

  /** Uses the entries as they are, and copies them before they grow. */
  constructor(entries: Uint32Array = new Uint32Array(0)) {
    this.entries = entries;
    this.length = entries.length / 2;
  }

  *[Symbol.iterator](): Iterator<readonly [document: number, counts: number]> {
    for (let at = 0; at < this.length; at++) yield [this.entries[at * 2]!, this.entries[at * 2 + 1]!];
  }

  push(document: number, counts: number): void {
    if (this.length * 2 === this.entries.length) {
      const grown = new Uint32Array(Math.max(4, this.entries.length * 2));
      grown.set(this.entries);
      this.entries = grown;
    }
    const isLast = this.length === 0 || this.entries[this.length * 2 - 2]! < document;
    const at = (isLast ? this.length : this.#placeOf(document)) * 2;
    if (!isLast) this.entries.copyWithin(at + 2, at, this.length * 2);
    this.entries[at] = document;
    this.entries[at + 1] = counts;
    this.length++;
  }

  has(document: number): boolean {
    const place = this.#placeOf(document);
    return place < this.length && this.entries[place * 2] === document;
  }

  /** Drops the documents for which `isKept` is false. */
  keep(isKept: (document: number) => boolean): void {
    let kept = 0;
    for (let at = 0; at < this.length; at++) {
      if (!isKept(this.entries[at * 2]!)) continue;
      this.entries[kept * 2] = this.entries[at * 2]!;
      this.entries[kept * 2 + 1] = this.entries[at * 2 + 1]!;
      kept++;
    }
    this.length = kept;
  }

  /** The place of the first document with this number or a higher one. */
  #placeOf(document: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.entries[middle * 2]! < document) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * The position of each field's count in the packed word: its lowest bit and its greatest count. The body has the lowest bits, so that most
 * words are small.
 */
export const PACKING = [
  { shift: 8, max: 15 },
  { shift: 12, max: 15 },
  { shift: 16, max: 63 },
  { shift: 22, max: 255 },
  { shift: 0, max: 255 },
] as const;

/** Adds one occurrence in `field` to packed counts. */
export function countIn(packed: number, field: number): number {
  const { shift, max } = PACKING[field]!;
  return ((packed >>> shift) & max) === max ? packed : packed + (1 << shift);
}

export function hasCountOutsideBody(packed: number): boolean {
  return packed > PACKING[4].max;
}
