import { decodeIndex, encodeIndex, type IndexContents } from './index-codec.ts';
import { NameIndex } from './name-index.ts';
import { countIn, hasCountOutsideBody, Posting } from './postings.ts';
import type { SearchDocument } from './ranker.ts';
import { Spelling } from './spelling.ts';
import { eachTerm } from './tokens.ts';
import { layTrail, TRAIL_LENGTH } from './trails.ts';

/** Fields of a document in the order in which they are counted; the body is the last. */
export const FIELD_NAMES = ['name', 'tags', 'description', 'examples', 'body'] as const;
export const FIELD_COUNT = FIELD_NAMES.length;
const BODY_CHARACTERS = 20_000;

/** Which document has which term how often in which field. Documents have numbers; removed ones leave gaps until there are many. */
export class TermIndex {
  readonly names = new NameIndex();
  readonly spelling = new Spelling();
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
  #compactions = 0;

  /** Documents that are not removed. */
  get size(): number {
    return this.#numbers.size;
  }

  get hasGaps(): boolean {
    return this.#numbers.size !== this.ids.length;
  }

  upsert(document: SearchDocument): void {
    this.remove(document.id);
    const number = this.#number(document.id, document.name, document.tags, document.version);
    layTrail(this.trail(number), document.description, document.body);
    const counts = new Map<string, number>();
    textsOf(document).forEach((text, field) => {
      let length = 0;
      eachTerm(text, (term) => {
        length++;
        counts.set(term, countIn(counts.get(term) ?? 0, field));
      });
      this.#setLength(number, field, length);
    });
    for (const [term, packed] of counts) {
      let posting = this.#postings.get(term);
      if (posting === undefined) this.#postings.set(flat(term), (posting = new Posting()));
      posting.push(number, packed);
      if (hasCountOutsideBody(packed)) this.spelling.add(term);
    }
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
    if (this.ids.length - this.#numbers.size > Math.max(64, this.#numbers.size / 4)) this.#compact();
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

  *postingsWithPrefix(prefix: string): Iterable<Posting> {
    for (const [term, posting] of this.#postings) if (term.startsWith(prefix)) yield posting;
  }

  /** Everything in pieces, between which others may work; ends with null when it changed too much meanwhile. */
  *dump(): Generator<Uint8Array | null> {
    const compactions = this.#compactions;
    const documents = this.ids.map((id, number) =>
      id === null
        ? null
        : {
            id,
            version: this.#versions.get(id)!,
            ...this.names.keysOf(id),
            lengths: this.#lengthsOf(number),
            trail: this.trail(number).slice(),
          },
    );
    for (const piece of encodeIndex(documents, this.#postings)) {
      if (this.#compactions !== compactions) {
        yield null; // numbers mean something else now
        return;
      }
      yield piece;
    }
  }

  /** Takes the place of what there is by what `dump` wrote, in pieces. Throws where that is damaged, and is then empty. */
  *restore(bytes: Uint8Array): Generator<void> {
    const contents: IndexContents = {
      document: ({ id, version, name, tags, lengths, trail }) => {
        const number = this.#number(id, name, tags, version);
        this.trail(number).set(trail);
        lengths.forEach((length, field) => this.#setLength(number, field, length));
      },
      gap: () => void this.ids.push(null),
      posting: (term, posting, outsideBody) => {
        this.#postings.set(term, posting);
        if (outsideBody) this.spelling.add(term);
      },
    };
    yield* decodeIndex(bytes, contents);
  }

  #number(id: string, name: string, tags: readonly string[], version: string): number {
    const number = this.ids.length;
    if ((number + 1) * TRAIL_LENGTH > this.#trails.length) {
      const grown = new Uint16Array(Math.ceil((number + 1) * 1.25) * TRAIL_LENGTH);
      grown.set(this.#trails);
      this.#trails = grown;
    }
    this.ids.push(id);
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

  #lengthsOf(number: number): readonly number[] {
    return [...this.lengths.subarray(number * FIELD_COUNT, (number + 1) * FIELD_COUNT)];
  }

  #compact(): void {
    const numbers = new Int32Array(this.ids.length).fill(-1);
    const ids: string[] = [];
    this.ids.forEach((id, number) => {
      if (id === null) return;
      this.#trails.copyWithin(ids.length * TRAIL_LENGTH, number * TRAIL_LENGTH, (number + 1) * TRAIL_LENGTH);
      this.lengths.copyWithin(ids.length * FIELD_COUNT, number * FIELD_COUNT, (number + 1) * FIELD_COUNT);
      numbers[number] = ids.length;
      this.#numbers.set(id, ids.length);
      ids.push(id);
    });
    this.ids = ids;
    for (const [term, posting] of this.#postings) {
      posting.renumber(numbers);
      if (posting.length === 0) this.#postings.delete(term);
    }
    this.#compactions++;
  }
}

function textsOf(document: SearchDocument): readonly string[] {
  const name = document.name === document.id ? document.id : `${document.id} ${document.name}`;
  return [name, document.tags.join(' '), document.description, document.examples.join('\n'), document.body.slice(0, BODY_CHARACTERS)];
}

/** A copy that does not keep the text alive that it was cut from. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}
