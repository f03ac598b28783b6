import { bytesOf, numbers32 } from './packed.ts';
import { hasCountOutsideBody, Posting } from './posting.ts';
import { encodedTexts, TextTable } from './text-table.ts';

/** Entries of postings between two yields: a few milliseconds. */
const AT_ONCE = 200_000;

/** Stored postings of many documents. A term is looked up on demand, and nothing else is read. */
export class KeptTerms {
  readonly #texts: TextTable;
  /** Where the entries of each term end, in pairs. */
  readonly #bounds: Uint32Array;
  /** Whether a document has the term outside its body. */
  readonly #outside: Uint8Array;
  readonly #entries: Uint32Array;

  constructor(parts: readonly Uint8Array[]) {
    this.#texts = new TextTable(parts);
    const [bounds, outside, entries] = parts.slice(TextTable.PARTS) as [Uint8Array, Uint8Array, Uint8Array];
    [this.#bounds, this.#entries] = [numbers32(bounds), numbers32(entries)];
    this.#outside = outside;
  }

  has(term: string): boolean {
    return this.#texts.placeOf(term) !== undefined;
  }

  posting(term: string): Posting | undefined {
    const place = this.#texts.placeOf(term);
    return place === undefined ? undefined : this.#postingAt(place);
  }

  /** `isOutside`: only terms that a document has outside its body. */
  *terms(isOutside = false): Iterable<string> {
    for (let place = 0; place < this.#texts.size; place++) if (!isOutside || this.#outside[place] === 1) yield this.#texts.at(place);
  }

  #postingAt(place: number): Posting {
    const from = place === 0 ? 0 : this.#bounds[place - 1]!;
    return new Posting(this.#entries.slice(from * 2, this.#bounds[place]! * 2)); // copied, because a posting changes in place and the stored entries are read again
  }
}

/** The data for `KeptTerms`, in parts. `numberOf`: a document's new number; undefined for a removed one. */
export function* encodedTerms(
  postings: Iterable<readonly [string, Posting]>,
  numberOf: (number: number) => number | undefined,
): Generator<void, readonly Uint8Array[]> {
  const texts: Buffer[] = [];
  const [bounds, outside]: [number[], number[]] = [[], []];
  let entries = new Uint32Array(1024);
  let [used, spent] = [0, 0];
  for (const [term, posting] of postings) {
    const before = used;
    let isOutside = false;
    if (used + posting.length * 2 > entries.length) {
      const grown = new Uint32Array((used + posting.length * 2) * 2);
      grown.set(entries);
      entries = grown;
    }
    for (const [document, counts] of posting) {
      const number = numberOf(document);
      if (number === undefined) continue;
      entries[used++] = number;
      entries[used++] = counts;
      isOutside ||= hasCountOutsideBody(counts);
    }
    if ((spent += posting.length + 50) > AT_ONCE) {
      spent = 0;
      yield;
    }
    if (used === before) continue;
    texts.push(Buffer.from(term));
    bounds.push(used / 2);
    outside.push(isOutside ? 1 : 0);
  }
  return [...(yield* encodedTexts(texts)), bytesOf(new Uint32Array(bounds)), new Uint8Array(outside), bytesOf(entries.subarray(0, used))];
}
