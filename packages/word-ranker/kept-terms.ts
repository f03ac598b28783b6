import { bytesOf, numbers32 } from './packed.ts';
import { hasCountOutsideBody, Posting } from './posting.ts';

/** Between two yields: entries of postings, a few milliseconds. */
const AT_ONCE = 200_000;

/** The postings of many documents as a file has them: a term is looked up where it is asked for, and nothing else is read. */
export class KeptTerms {
  readonly #texts: Uint8Array;
  /** Where each text ends. */
  readonly #ends: Uint32Array;
  /** By hash, the place of a term, from 1; 0 for none. */
  readonly #slots: Uint32Array;
  /** Where the entries of each term end, in pairs. */
  readonly #bounds: Uint32Array;
  /** Whether a document has the term not in its body alone. */
  readonly #outside: Uint8Array;
  readonly #entries: Uint32Array;

  constructor(parts: readonly Uint8Array[]) {
    const [texts, ends, slots, bounds, outside, entries] = parts as [
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array,
    ];
    this.#texts = texts;
    [this.#ends, this.#slots, this.#bounds, this.#entries] = [numbers32(ends), numbers32(slots), numbers32(bounds), numbers32(entries)];
    this.#outside = outside;
  }

  posting(term: string): Posting | undefined {
    const wanted = Buffer.from(term);
    for (let slot = hashOf(wanted); ; slot++) {
      const place = this.#slots[slot % this.#slots.length]! - 1;
      if (place < 0) return undefined;
      if (wanted.equals(this.#textAt(place))) return this.#postingAt(place);
    }
  }

  /** `isOutside`: only those that a document has not in its body alone. */
  *terms(isOutside = false): Iterable<string> {
    for (let place = 0; place < this.#ends.length; place++)
      if (!isOutside || this.#outside[place] === 1) yield Buffer.from(this.#textAt(place)).toString();
  }

  #textAt(place: number): Uint8Array {
    return this.#texts.subarray(place === 0 ? 0 : this.#ends[place - 1], this.#ends[place]);
  }

  #postingAt(place: number): Posting {
    const from = place === 0 ? 0 : this.#bounds[place - 1]!;
    return new Posting(this.#entries.subarray(from * 2, this.#bounds[place]! * 2));
  }
}

/** What `KeptTerms` reads, in pieces. `numberOf`: the new number of a document; undefined for one that is removed. */
export function* encodedTerms(
  postings: Iterable<readonly [string, Posting]>,
  numberOf: (number: number) => number | undefined,
): Generator<void, readonly Uint8Array[]> {
  const texts: Buffer[] = [];
  const [ends, bounds, outside]: [number[], number[], number[]] = [[], [], []];
  let entries = new Uint32Array(1024);
  let [used, end, spent] = [0, 0, 0];
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
    const text = Buffer.from(term);
    texts.push(text);
    ends.push((end += text.length));
    bounds.push(used / 2);
    outside.push(isOutside ? 1 : 0);
  }
  const slots = new Uint32Array(texts.length * 2 + 1);
  for (const [place, text] of texts.entries()) {
    let slot = hashOf(text);
    while (slots[slot % slots.length] !== 0) slot++;
    slots[slot % slots.length] = place + 1;
    if (place % 20_000 === 19_999) yield;
  }
  return [
    Buffer.concat(texts),
    bytesOf(new Uint32Array(ends)),
    bytesOf(slots),
    bytesOf(new Uint32Array(bounds)),
    new Uint8Array(outside),
    bytesOf(entries.subarray(0, used)),
  ];
}

function hashOf(text: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text[at]!, 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
