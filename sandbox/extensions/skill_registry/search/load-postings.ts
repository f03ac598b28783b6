import { hasCountOutsideBody, Posting, withoutBody } from './postings.ts';
import type { CatalogRows } from './ranker.ts';
import { decodeRecord } from './record.ts';
import type { TermIndex } from './term-index.ts';

const DOCUMENTS_AT_ONCE = 150;
const TERMS_AT_ONCE = 3000;

/** Turns what is kept by document into what is searched by term, in pieces. Throws where it makes no sense. */
export function* loadPostings(index: TermIndex, catalog: CatalogRows, bodies: boolean): Generator<void> {
  const { entries, numbers, holding } = yield* readEntries(index, catalog, bodies);
  const terms: string[] = [''];
  for (const piece of catalog.terms()) {
    for (const term of piece) terms.push(term);
    yield;
  }
  if (terms.length < holding.length) throw new Error('it names terms that it does not have');
  const starts = new Uint32Array(holding.length + 1);
  for (let term = 0; term < holding.length; term++) starts[term + 1] = starts[term]! + holding[term]!;
  const all = new Uint32Array(starts[holding.length]! * 2);
  const outside = new Uint8Array(holding.length);
  const next = starts.slice();
  yield;
  for (let at = 0; at < entries.length; at++) {
    const own = entries[at]!;
    for (let entry = 0; entry < own.length; entry += 2) {
      const term = own[entry]!;
      const to = next[term]!++ * 2;
      all[to] = numbers[at]!;
      all[to + 1] = own[entry + 1]!;
      if (hasCountOutsideBody(own[entry + 1]!)) outside[term] = 1;
    }
    if (at % DOCUMENTS_AT_ONCE === 0) yield;
  }
  for (let term = 1; term < holding.length; term++) {
    const count = holding[term]!;
    if (count > 0)
      index.setPosting(terms[term]!, new Posting(all.subarray(starts[term]! * 2, starts[term + 1]! * 2), count), outside[term] === 1);
    if (term % TERMS_AT_ONCE === 0) yield;
  }
}

interface Entries {
  /** By document: term, packed counts, term, packed counts, … */
  readonly entries: readonly Uint32Array[];
  /** The documents' numbers, ascending. */
  readonly numbers: readonly number[];
  /** By term: how many documents have it. */
  readonly holding: Uint32Array;
}

function* readEntries(index: TermIndex, catalog: CatalogRows, bodies: boolean): Generator<void, Entries> {
  const entries: Uint32Array[] = [];
  const numbers: number[] = [];
  let holding = new Uint32Array(1 << 16);
  let highest = 0;
  let buffer = new Uint32Array(1 << 12);
  for (const piece of catalog.rows()) {
    for (const { id, version, record } of piece) {
      if (index.numberOf(id) !== undefined) continue; // written again while the pieces before were read
      let length = 0;
      const head = decodeRecord(record, (term, packed) => {
        const kept = bodies ? packed : withoutBody(packed);
        if (kept === 0) return;
        if (length === buffer.length) buffer = grown(buffer, length * 2);
        buffer[length++] = term;
        buffer[length++] = kept;
        if (term >= holding.length) holding = grown(holding, term * 2);
        holding[term]!++;
        if (term > highest) highest = term;
      });
      numbers.push(index.addHead(id, version, head));
      entries.push(buffer.slice(0, length));
    }
    yield;
  }
  return { entries, numbers, holding: holding.subarray(0, highest + 1) };
}

function grown(numbers: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(length);
  larger.set(numbers);
  return larger;
}
