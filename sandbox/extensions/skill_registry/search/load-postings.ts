import { hasCountOutsideBody, Posting, withoutBody } from './postings.ts';
import type { CatalogDbRows } from './ranker.ts';
import { decodeRecord, Decoded } from './record.ts';
import type { TermIndex } from './term-index.ts';

const TERMS_AT_ONCE = 3000;

/** Turns what is kept by document into what is searched by term, in pieces. Throws where it makes no sense. */
export function* loadPostings(index: TermIndex, catalog: CatalogDbRows, bodies: boolean): Generator<void> {
  const { pieces, holding } = yield* readRows(index, catalog, bodies);
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
  for (const { documents, entries } of pieces) {
    let entry = 0;
    for (const { number, end } of documents) {
      for (; entry < end; entry += 2) {
        const term = entries[entry]!;
        const packed = entries[entry + 1]!;
        const to = next[term]!++ * 2;
        all[to] = number;
        all[to + 1] = packed;
        if (hasCountOutsideBody(packed)) outside[term] = 1;
      }
    }
    yield;
  }
  for (let term = 1; term < holding.length; term++) {
    const count = holding[term]!;
    if (count > 0)
      index.setPosting(terms[term]!, new Posting(all.subarray(starts[term]! * 2, starts[term + 1]! * 2), count), outside[term] === 1);
    if (term % TERMS_AT_ONCE === 0) yield;
  }
}

interface Rows {
  readonly pieces: readonly Piece[];
  /** By term: how many documents have it. */
  readonly holding: Uint32Array;
}

interface Piece {
  /** Their numbers ascending, and where the entries of each end. */
  readonly documents: readonly { readonly number: number; readonly end: number }[];
  /** Term, packed counts, term, packed counts, … */
  readonly entries: Uint32Array;
}

function* readRows(index: TermIndex, catalog: CatalogDbRows, bodies: boolean): Generator<void, Rows> {
  const pieces: Piece[] = [];
  const decoded = new Decoded();
  let holding = new Uint32Array(1 << 16);
  let highest = 0;
  for (const piece of catalog.rows()) {
    const documents: { number: number; end: number }[] = [];
    decoded.length = 0;
    for (const row of piece) {
      const { id, version } = row;
      if (index.numberOf(id) !== undefined) continue; // written again while the pieces before were read
      const from = decoded.length;
      const number = index.addHead(id, version, decodeRecord(row, decoded));
      if (!bodies) dropBodies(decoded, from);
      documents.push({ number, end: decoded.length });
    }
    const entries = decoded.numbers.slice(0, decoded.length);
    for (let entry = 0; entry < entries.length; entry += 2) {
      const term = entries[entry]!;
      if (term >= holding.length) holding = grown(holding, term * 2);
      holding[term]!++;
      if (term > highest) highest = term;
    }
    pieces.push({ documents, entries });
    yield;
  }
  return { pieces, holding: holding.subarray(0, highest + 1) };
}

/** Keeps what is more than a word of a body. */
function dropBodies(decoded: Decoded, from: number): void {
  const { numbers, length } = decoded;
  let kept = from;
  for (let entry = from; entry < length; entry += 2) {
    const packed = withoutBody(numbers[entry + 1]!);
    if (packed === 0) continue;
    numbers[kept++] = numbers[entry]!;
    numbers[kept++] = packed;
  }
  decoded.length = kept;
}

function grown(numbers: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(length);
  larger.set(numbers);
  return larger;
}
