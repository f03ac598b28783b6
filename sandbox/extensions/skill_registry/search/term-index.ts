import { NameIndex } from './name-index.ts';
import { countIn, hasCountOutsideBody, Posting, withoutBody } from './postings.ts';
import { BODY_CHARACTERS, type CountedDocument, type SearchDocument } from './ranker.ts';
import type { RecordHead } from './record.ts';
import { Spelling } from './spelling.ts';
import { eachTerm } from './tokens.ts';
import { layTrail, TRAIL_LENGTH } from './trails.ts';

/** Fields of a document in the order in which they are counted; the body is the last. */
export const FIELD_NAMES = ['name', 'tags', 'description', 'examples', 'body'] as const;
export const FIELD_COUNT = FIELD_NAMES.length;

/** Which document has which term how often in which field. Documents have numbers; those of removed ones are given again when no posting has them any more. */
export class TermIndex {
  readonly names = new NameIndex();
  readonly #spelling = new Spelling();
  /** By document number; null where one was removed. */
  ids: (string | null)[] = [];
  /** Terms of each field of each document, by `number * FIELD_COUNT + field`. */
  lengths = new Uint32Array(64 * FIELD_COUNT);
  /** Marks of each document's first terms in their order, by `number * TRAIL_LENGTH`. */
  #trails = new Uint16Array(64 * TRAIL_LENGTH);
  /** Terms of each field of all documents together. */
  totals = new Float64Array(FIELD_COUNT);
  /** Grows with every change. */
  revision = 0;
  #postings = new Map<string, Posting>();
  readonly #numbers = new Map<string, number>();
  readonly #versions = new Map<string, string>();
  /** Numbers of removed documents that postings still have. */
  #dead: number[] = [];
  /** Numbers that no posting has. */
  readonly #free: number[] = [];
  #sweep: Sweep | null = null;

  /** Documents that are not removed. */
  get size(): number {
    return this.#numbers.size;
  }

  get hasGaps(): boolean {
    return this.#numbers.size !== this.ids.length;
  }

  /** Takes the place of the document of that id. */
  add(counted: CountedDocument): void {
    this.remove(counted.id);
    const number = this.addHead(counted.id, counted.version, counted);
    for (const [term, packed] of counted.counts) {
      let posting = this.#postings.get(term);
      if (posting === undefined) this.#postings.set(flat(term), (posting = new Posting()));
      posting.push(number, packed);
      if (hasCountOutsideBody(packed)) this.#spelling.add(term);
    }
  }

  /** All of a document but its terms; its number. */
  addHead(id: string, version: string, { name, tags, lengths, trail }: RecordHead): number {
    const number = this.#number(id, name, tags, version);
    this.trail(number).set(trail);
    lengths.forEach((length, field) => this.#setLength(number, field, length));
    return number;
  }

  /** A term that no document has yet. */
  setPosting(term: string, posting: Posting, outsideBody: boolean): void {
    this.#postings.set(term, posting);
    if (outsideBody) this.#spelling.add(term);
  }

  remove(id: string): void {
    const number = this.#numbers.get(id);
    if (number === undefined) return;
    this.#numbers.delete(id);
    this.#versions.delete(id);
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

  /** The version that a document was given with; null when there is no such document. */
  versionOf(id: string): string | null {
    return this.#versions.get(id) ?? null;
  }

  /** Marks of a document's first terms in their order, as they are kept. */
  trail(number: number): Uint16Array {
    return this.#trails.subarray(number * TRAIL_LENGTH, (number + 1) * TRAIL_LENGTH);
  }

  known(): Iterable<string> {
    return this.#numbers.keys();
  }

  posting(term: string): Posting | undefined {
    return this.#postings.get(term);
  }

  /** Terms that a document has, not in its body alone, and that differ from this one by a slip. */
  near(term: string): readonly string[] {
    return this.#spelling.near(term, (other) => this.#isUsed(other, hasCountOutsideBody));
  }

  /** Whether any document has it: what was removed stands in the postings until they are renumbered. */
  has(term: string): boolean {
    return this.#isUsed(term, () => true);
  }

  #isUsed(term: string, counts: (packed: number) => boolean): boolean {
    const posting = this.#postings.get(term);
    for (let at = 0; at < (posting?.length ?? 0); at++) {
      const { entries } = posting!;
      if (this.ids[entries[at * 2]!] !== null && counts(entries[at * 2 + 1]!)) return true;
    }
    return false;
  }

  *postingsWithPrefix(prefix: string): Iterable<Posting> {
    for (const [term, posting] of this.#postings) if (term.startsWith(prefix)) yield posting;
  }

  #number(id: string, name: string, tags: readonly string[], version: string): number {
    const number = this.#free.pop() ?? this.ids.length;
    if ((number + 1) * TRAIL_LENGTH > this.#trails.length) {
      const grown = new Uint16Array(Math.ceil((number + 1) * 1.25) * TRAIL_LENGTH);
      grown.set(this.#trails);
      this.#trails = grown;
    }
    this.ids[number] = id;
    this.#numbers.set(id, number);
    this.#versions.set(id, version);
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

  /** Takes removed documents out of some postings: a little with each change, because all at once would keep others waiting. */
  #sweepSome({ numbers, rest }: Sweep): void {
    for (let left = SWEPT_AT_ONCE; left > 0;) {
      const next = rest.next();
      if (next.done === true) {
        for (const number of numbers) this.#free.push(number);
        this.#sweep = null;
        return;
      }
      const [term, posting] = next.value;
      left -= posting.length + 1;
      posting.keep((number) => this.ids[number] !== null);
      if (posting.length === 0) this.#postings.delete(term);
      if (!this.#isUsed(term, hasCountOutsideBody)) this.#spelling.delete(term);
    }
  }
}

interface Sweep {
  /** Removed before it began. */
  readonly numbers: readonly number[];
  readonly rest: Iterator<[string, Posting]>;
}

/** Entries of postings: less than a millisecond. */
const SWEPT_AT_ONCE = 20_000;

/** What is counted of a document. */
export function countDocument(document: SearchDocument): CountedDocument {
  const { id, version, name, tags } = document;
  const trail = new Uint16Array(TRAIL_LENGTH);
  layTrail(trail, document.description, document.body);
  const counts = new Map<string, number>();
  const lengths = textsOf(document).map((text, field) => {
    let length = 0;
    eachTerm(text, (term) => {
      length++;
      counts.set(term, countIn(counts.get(term) ?? 0, field));
    });
    return length;
  });
  return { id, version, name, tags, lengths, trail, counts };
}

/** The same without what only its body says. */
export function withoutBodyWords(counted: CountedDocument): CountedDocument {
  const counts = new Map<string, number>();
  for (const [term, packed] of counted.counts) if (hasCountOutsideBody(packed)) counts.set(term, withoutBody(packed));
  return { ...counted, counts };
}

function textsOf(document: SearchDocument): readonly string[] {
  const name = document.name === document.id ? document.id : `${document.id} ${document.name}`;
  return [name, document.tags.join(' '), document.description, document.examples.join('\n'), document.body.slice(0, BODY_CHARACTERS)];
}

/** A copy that does not keep the text alive that it was cut from. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}
