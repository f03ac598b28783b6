import { eachTerm } from './tokens.ts';

/** How many terms of the description, and of the body's start, have stored positions. */
const DESCRIPTION_TERMS = 96;
const BODY_TERMS = 160;
export const POSITIONS = DESCRIPTION_TERMS + BODY_TERMS;

/** Two terms are near each other when at most one other is between them. */
const NEAR = 2;

/** A number from 1 to 65,535 for a term. Few terms share one. */
export function markOf(term: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at++) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & 0xffff || 1;
}

/** The marks of a document's first terms, in the order of the text; 0 after the last. */
export function positionsOf({ description, body }: { readonly description: string; readonly body: string }): Uint16Array {
  const positions = new Uint16Array(POSITIONS);
  write(positions, 0, DESCRIPTION_TERMS, description);
  write(positions, DESCRIPTION_TERMS, POSITIONS, body.slice(0, BODY_TERMS * 20));
  return positions;
}

function write(positions: Uint16Array, from: number, to: number, text: string): void {
  let at = from;
  eachTerm(text, (term) => {
    if (at < to) positions[at++] = markOf(term);
  });
}

export interface PairWeights {
  readonly adjacent: number;
  readonly apart: number;
  readonly inDescription: number;
  readonly inBody: number;
}

/** The pairs of neighbouring query terms, to be searched in positions. */
export class NearbyTerms {
  readonly #marks: readonly number[];
  readonly #idf: readonly number[];
  readonly #weights: PairWeights;
  /** Whether the pair at `later * NEAR + distance - 1` was seen in the current part. */
  readonly #seen: Uint8Array;

  /** `marks` and `idf` of the query's terms, in order. */
  constructor(marks: readonly number[], idf: readonly number[], weights: PairWeights) {
    this.#marks = marks;
    this.#idf = idf;
    this.#weights = weights;
    this.#seen = new Uint8Array(marks.length * NEAR);
    marks.forEach((mark, place) => (places[mark] = place + 1));
  }

  /** The bonus for the positions of a document's terms. */
  score(positions: Uint16Array): number {
    const { inDescription, inBody } = this.#weights;
    return inDescription * this.#part(positions, 0, DESCRIPTION_TERMS) + inBody * this.#part(positions, DESCRIPTION_TERMS, POSITIONS);
  }

  /** Call at the end: the table of marks is shared. */
  release(): void {
    for (const mark of this.#marks) places[mark] = 0;
  }

  #part(positions: Uint16Array, from: number, to: number): number {
    let sum = 0;
    this.#seen.fill(0);
    for (let at = from; at < to && positions[at] !== 0; at++) {
      const place = places[positions[at]!]!;
      if (place === 0) continue;
      for (let back = 1; back <= NEAR && at - back >= from; back++) {
        const other = places[positions[at - back]!]!;
        if (other !== 0) sum += this.#pair(place, other);
      }
    }
    return sum;
  }

  #pair(one: number, other: number): number {
    const distance = Math.abs(one - other);
    if (distance === 0 || distance > NEAR) return 0;
    const later = Math.max(one, other) - 1;
    const key = later * NEAR + distance - 1;
    if (this.#seen[key] === 1) return 0;
    this.#seen[key] = 1;
    const { adjacent, apart } = this.#weights;
    return (distance === 1 ? adjacent : apart) * Math.min(this.#idf[later]!, this.#idf[later - distance]!);
  }
}

/** By mark: its place in the current query, from 1. */
const places = new Uint16Array(65_536);
