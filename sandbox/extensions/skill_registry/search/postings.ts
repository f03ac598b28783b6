/** How often one term occurs in each field of each document: document numbers ascending, counts packed into one word. */
export class Posting {
  /** document, packed counts, document, packed counts, … */
  entries: Uint32Array;
  length: number;

  constructor(entries = new Uint32Array(4), length = 0) {
    this.entries = entries;
    this.length = length;
  }

  push(document: number, counts: number): void {
    if (this.length * 2 === this.entries.length) {
      const grown = new Uint32Array(this.entries.length * 2);
      grown.set(this.entries);
      this.entries = grown;
    }
    this.entries[this.length * 2] = document;
    this.entries[this.length * 2 + 1] = counts;
    this.length++;
  }

  has(document: number): boolean {
    let low = 0;
    let high = this.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = this.entries[middle * 2]!;
      if (found === document) return true;
      if (found < document) low = middle + 1;
      else high = middle - 1;
    }
    return false;
  }

  /** Renumbers documents by `numbers` (-1: gone), whose order must be kept. */
  renumber(numbers: Int32Array): void {
    let kept = 0;
    for (let at = 0; at < this.length; at++) {
      const document = numbers[this.entries[at * 2]!]!;
      if (document < 0) continue;
      this.entries[kept * 2] = document;
      this.entries[kept * 2 + 1] = this.entries[at * 2 + 1]!;
      kept++;
    }
    this.length = kept;
    this.entries = this.entries.slice(0, Math.max(4, kept * 2));
  }
}

/** Where each field's count lies in the packed word: its lowest bit and its greatest count. The body lies lowest, so that most words are small. */
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

/** What is left of packed counts for who keeps no bodies. */
export function withoutBody(packed: number): number {
  return (packed & ~PACKING[4].max) >>> 0;
}
