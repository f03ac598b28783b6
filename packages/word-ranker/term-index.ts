import { NameIndex, Spelling } from './name-index.ts';
import { BODY_CHARACTERS, type TextDocument } from './document.ts';
import { POSITIONS, positionsOf } from './term-positions.ts';
import { encodedTerms, KeptTerms } from './kept-terms.ts';
import { bytesOf, numbers32 } from './packed.ts';
import { countIn, hasCountOutsideBody, Posting } from './posting.ts';
import { eachTerm } from './tokens.ts';

/** The fields of a document: name, tags, description, examples and, last, the body. */
export const FIELD_COUNT = 5;
/** Documents between two yields. */
const AT_ONCE = 2000;

/** The counted terms of a document. */
export interface Counted {
  /** The number of terms in each field. */
  readonly lengths: readonly number[];
  readonly positions: Uint16Array;
  /** How often a term is in each field, packed. */
  readonly counts: ReadonlyMap<string, number>;
}

/** Counts a document's terms: the expensive part of indexing. */
export function countTerms(document: TextDocument): Counted {
  const counts = new Map<string, number>();
  const lengths = textsOf(document).map((text, field) => {
    let length = 0;
    eachTerm(text, (term) => {
      length++;
      counts.set(term, countIn(counts.get(term) ?? 0, field));
    });
    return length;
  });
  return { lengths, positions: positionsOf(document), counts };
}

/**
 * Which document has which term how often in which field. Documents have numbers; a removed document's number is reused once no posting has
 * it.
 */
export class TermIndex {
  readonly names = new NameIndex();
  readonly #spelling = new Spelling();
  /** By document number; null where the document was removed. */
  ids: (string | null)[] = [];
  /** The number of terms in each field of each document, at `number * FIELD_COUNT + field`. */
  lengths: Uint32Array = new Uint32Array(64 * FIELD_COUNT);
  /** The marks of each document's first terms in order, at `number * POSITIONS`. */
  #positions: Uint16Array = new Uint16Array(64 * POSITIONS);
  /** The number of terms in each field of all documents. */
  totals = new Float64Array(FIELD_COUNT);
  /** Grows with every change. */
  revision = 0;
  #postings = new Map<string, Posting>();
  #numbers = new Map<string, number>();
  /** Numbers of removed documents that postings still contain. */
  #dead: number[] = [];
  /** Numbers that no posting contains. */
  readonly #free: number[] = [];
  #sweep: Sweep | null = null;
  /** Stored postings that are not loaded yet. Their document numbers are never reused, since the postings still contain removed ones. */
  #kept: KeptTerms | null = null;
  #keptNumbers = 0;
  #spellsKept = true;

  /** The whole index, in parts, for `restore`; null where it changed meanwhile. The ids are in the order of their numbers. */
  *encoded(): Generator<void, { readonly ids: readonly string[]; readonly parts: readonly Uint8Array[] } | null> {
    const { revision } = this;
    const ids: string[] = [];
    const numbers = this.ids.map((id) => (id === null ? undefined : ids.push(id) - 1));
    const lengths = new Uint32Array(ids.length * FIELD_COUNT);
    const positions = new Uint16Array(ids.length * POSITIONS);
    for (const [former, number] of numbers.entries()) {
      if (number === undefined) continue;
      lengths.set(this.lengths.subarray(former * FIELD_COUNT, (former + 1) * FIELD_COUNT), number * FIELD_COUNT);
      positions.set(this.positions(former), number * POSITIONS);
      if (number % AT_ONCE === AT_ONCE - 1) yield;
    }
    const terms = encodedTerms(this.#allPostings(), (former) => numbers[former]);
    for (let step = terms.next(); ; step = terms.next()) {
      if (revision !== this.revision) return null;
      if (step.done === true) return { ids, parts: [bytesOf(lengths), bytesOf(positions), ...step.value] };
      yield;
    }
  }

  /** Loads the output of `encoded` into an empty index. */
  restore(ids: readonly string[], [lengths, positions, ...terms]: readonly Uint8Array[]): void {
    this.ids = [...ids];
    this.#keptNumbers = ids.length;
    this.#numbers = new Map(ids.map((id, number) => [id, number]));
    this.lengths = numbers32(lengths!);
    this.#positions = new Uint16Array(positions!.buffer, positions!.byteOffset, positions!.byteLength / 2);
    this.lengths.forEach((length, at) => (this.totals[at % FIELD_COUNT]! += length));
    this.#kept = new KeptTerms(terms);
    this.#spellsKept = false;
    this.revision++;
  }

  /** The number of documents without removed ones. */
  get size(): number {
    return this.#numbers.size;
  }

  get hasGaps(): boolean {
    return this.#numbers.size !== this.ids.length;
  }

  /** Replaces the document with that id. */
  add(document: Pick<TextDocument, 'id' | 'name' | 'tags'>, { lengths, positions, counts }: Counted): void {
    this.remove(document.id);
    const number = this.#numberFor(document);
    this.positions(number).set(positions);
    lengths.forEach((length, field) => this.#setLength(number, field, length));
    for (const [term, packed] of counts) {
      let posting = this.posting(term);
      if (posting === undefined) this.#postings.set(flat(term), (posting = new Posting()));
      posting.push(number, packed);
      if (hasCountOutsideBody(packed)) this.#spelling.add(term);
    }
  }

  remove(id: string): void {
    const number = this.#numbers.get(id);
    if (number === undefined) return;
    this.#numbers.delete(id);
    this.names.delete(id);
    this.ids[number] = null;
    for (let field = 0; field < FIELD_COUNT; field++) this.totals[field]! -= this.lengths[number * FIELD_COUNT + field]!;
    this.revision++;
    this.#dead.push(number);
    if (this.#sweep === null && this.#dead.length > Math.max(64, this.#numbers.size / 4)) {
      this.#sweep = { numbers: this.#dead, rest: this.#postings.entries() };
      this.#dead = [];
    }
    if (this.#sweep !== null) this.#sweepSome(this.#sweep);
  }

  numberOf(id: string): number | undefined {
    return this.#numbers.get(id);
  }

  /** The stored marks of a document's first terms in order. */
  positions(number: number): Uint16Array {
    return this.#positions.subarray(number * POSITIONS, (number + 1) * POSITIONS);
  }

  posting(term: string): Posting | undefined {
    const known = this.#postings.get(term);
    if (known !== undefined || this.#kept === null) return known;
    const kept = this.#kept.posting(term);
    if (kept !== undefined) this.#postings.set(flat(term), kept);
    return kept;
  }

  /** Terms that documents have outside their bodies and that differ from this one by a typing error. */
  near(term: string): readonly string[] {
    if (!this.#spellsKept) for (const other of this.#kept?.terms(true) ?? []) this.#spelling.add(other);
    this.#spellsKept = true;
    return this.#spelling.near(term, (other) => this.#isUsed(other));
  }

  /** Whether a current document has the term outside its body: postings contain removed documents until they are swept. */
  #isUsed(term: string): boolean {
    const posting = this.posting(term);
    for (let at = 0; at < (posting?.length ?? 0); at++) {
      const { entries } = posting!;
      if (this.ids[entries[at * 2]!] !== null && hasCountOutsideBody(entries[at * 2 + 1]!)) return true;
    }
    return false;
  }

  *postingsWithPrefix(prefix: string): Iterable<Posting> {
    for (const term of this.#kept?.terms() ?? []) if (term.startsWith(prefix)) this.posting(term);
    for (const [term, posting] of this.#postings) if (term.startsWith(prefix)) yield posting;
  }

  /** Stored postings are read temporarily. */
  *#allPostings(): Iterable<readonly [string, Posting]> {
    for (const term of this.#kept?.terms() ?? []) yield [term, this.#postings.get(term) ?? this.#kept!.posting(term)!];
    for (const [term, posting] of this.#postings) if (this.#kept?.has(term) !== true) yield [term, posting];
  }

  #numberFor({ id, name, tags }: Pick<TextDocument, 'id' | 'name' | 'tags'>): number {
    const number = this.#free.pop() ?? this.ids.length;
    if ((number + 1) * POSITIONS > this.#positions.length) {
      const grown = new Uint16Array(Math.ceil((number + 1) * 1.25) * POSITIONS);
      grown.set(this.#positions);
      this.#positions = grown;
    }
    this.ids[number] = id;
    this.#numbers.set(id, number);
    this.names.set(id, name, tags);
    this.revision++;
    return number;
  }

  #setLength(number: number, field: number, length: number): void {
    if ((number + 1) * FIELD_COUNT > this.lengths.length) {
      const grown = new Uint32Array(Math.max(this.lengths.length * 2, (number + 1) * FIELD_COUNT));
      grown.set(this.lengths);
      this.lengths = grown;
    }
    this.lengths[number * FIELD_COUNT + field] = length;
    this.totals[field]! += length;
  }

  /** Removes deleted documents from some postings: a little with each change, because all at once would block. */
  #sweepSome({ numbers, rest }: Sweep): void {
    for (let left = SWEPT_AT_ONCE; left > 0;) {
      const next = rest.next();
      if (next.done === true) {
        for (const number of numbers) if (number >= this.#keptNumbers) this.#free.push(number);
        this.#sweep = null;
        return;
      }
      const [term, posting] = next.value;
      left -= posting.length + 1;
      posting.keep((number) => this.ids[number] !== null);
      if (posting.length === 0) this.#postings.delete(term);
      if (posting.length === 0 || !this.#isUsed(term)) this.#spelling.delete(term);
    }
  }
}

interface Sweep {
  /** Documents that were removed before the sweep began. */
  readonly numbers: readonly number[];
  readonly rest: Iterator<[string, Posting]>;
}

/** Entries of postings: less than a millisecond. */
const SWEPT_AT_ONCE = 20_000;

function textsOf(document: TextDocument): readonly string[] {
  const name = document.name === document.id ? document.id : `${document.id} ${document.name}`;
  return [name, document.tags.join(' '), document.description, document.examples.join('\n'), document.body.slice(0, BODY_CHARACTERS)];
}

/** A copy that does not keep its source text in memory. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}
