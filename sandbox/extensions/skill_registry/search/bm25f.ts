import { PACKING, hasCountOutsideBody, type Posting } from './postings.ts';
import type { Ranked, RankOptions, SearchDocument, StoredRanker } from './ranker.ts';
import { FIELD_COUNT, TermIndex } from './term-index.ts';
import { queryTerms, type QueryTerm } from './tokens.ts';

/** A field's weight, and how strongly a long one is discounted, in the order of the index's fields. */
export const FIELDS = [
  { name: 'name', weight: 3, b: 0.5 },
  { name: 'tags', weight: 2, b: 0.5 },
  { name: 'description', weight: 3, b: 0.5 },
  { name: 'examples', weight: 1, b: 0.1 },
  { name: 'body', weight: 0.45, b: 0.75 },
] as const;

const K1 = 1.8;
const MISSPELT = 0.6;
/** One word that only the body has is no evidence, unless it is all that was asked. */
const WORDS_OF_BODY = 2;
const STRONG = 0x80;

/** The default ranker: BM25F, exact after every change. */
export function createRanker(): StoredRanker {
  return new Bm25fRanker();
}

interface Match {
  readonly word: string;
  readonly weight: number;
  readonly postings: readonly Posting[];
}

class Bm25fRanker implements StoredRanker {
  readonly #index = new TermIndex();
  #norms = new Float64Array(0);
  #scores = new Float64Array(0);
  /** How many query words each document has, and whether one of them is more than a word of its body. */
  #evidence = new Uint8Array(0);
  /** The revision of the index that the norms belong to. */
  #prepared = -1;

  upsert(document: SearchDocument): void {
    this.#index.upsert(document);
  }

  remove(id: string): void {
    this.#index.remove(id);
  }

  known(): Iterable<string> {
    return this.#index.known();
  }

  versionOf(id: string): string | null {
    return this.#index.versionOf(id);
  }

  dump(): Iterable<Uint8Array | null> {
    return this.#index.dump();
  }

  restore(bytes: Uint8Array): Iterable<void> {
    return this.#index.restore(bytes);
  }

  rank(query: string, { k, accept, weak = false }: RankOptions): readonly Ranked[] {
    this.#prepare();
    const index = this.#index;
    const terms = queryTerms(query);
    const matches = terms.map((term) => this.#matchOf(term)).filter((match) => match.postings.length > 0);
    const touched: number[] = [];
    for (const match of matches) this.#score(match, touched);
    const needed = weak ? 0 : Math.min(WORDS_OF_BODY, terms.length);
    const named = index.names.find(query);
    const highest = touched.reduce((most, number) => Math.max(most, this.#scores[number]!), 0) + 1;
    const best: { id: string; number: number; score: number }[] = [];
    for (const [id, strength] of named) {
      const number = index.numberOf(id)!;
      if (this.#scores[number] === 0) touched.push(number);
      this.#scores[number]! += strength * highest;
      this.#evidence[number]! |= STRONG;
    }
    for (const number of touched) {
      const score = this.#scores[number]!;
      const evidence = this.#evidence[number]!;
      this.#scores[number] = 0;
      this.#evidence[number] = 0;
      if (evidence < needed) continue; // noise
      if (best.length === k && score < best[k - 1]!.score) continue;
      const id = index.ids[number]!;
      if (accept === undefined || accept(id)) insert(best, { id, number, score }, k);
    }
    return best.map(({ id, number, score }) => ({ id, score, why: this.#why(matches, number, query, named.has(id)) }));
  }

  /** Adds one query word's part to every document that has it. */
  #score(match: Match, touched: number[]): void {
    const norms = this.#norms;
    const { ids } = this.#index;
    for (const posting of match.postings) {
      const weight = match.weight * this.#idf(posting);
      const { entries, length } = posting;
      for (let at = 0; at < length; at++) {
        const number = entries[at * 2]!;
        if (ids[number] === null) continue;
        const packed = entries[at * 2 + 1]!;
        let frequency = 0;
        if (hasCountOutsideBody(packed)) this.#evidence[number]! |= STRONG;
        for (let field = 0; field < FIELD_COUNT; field++) {
          const { shift, max } = PACKING[field]!;
          const count = (packed >>> shift) & max;
          if (count > 0) frequency += count * norms[number * FIELD_COUNT + field]!;
        }
        if (this.#scores[number] === 0) touched.push(number);
        this.#scores[number]! += (weight * frequency) / (K1 + frequency);
        if ((this.#evidence[number]! & (STRONG - 1)) < STRONG - 1) this.#evidence[number]!++;
      }
    }
  }

  #matchOf({ term, word, prefix }: QueryTerm): Match {
    if (prefix) {
      const postings = [...this.#index.postingsWithPrefix(term)];
      return { word, weight: 1, postings: postings.filter((posting) => this.#alive(posting) > 0) };
    }
    const posting = this.#index.posting(term);
    if (posting !== undefined && this.#alive(posting) > 0) return { word, weight: 1, postings: [posting] };
    const near = this.#index.spelling.near(term).flatMap((known) => this.#index.posting(known) ?? []);
    return { word, weight: MISSPELT, postings: near.filter((found) => this.#alive(found) > 0) };
  }

  #idf(posting: Posting): number {
    const found = this.#alive(posting);
    return Math.log(1 + (this.#index.size - found + 0.5) / (found + 0.5));
  }

  #alive(posting: Posting): number {
    const { hasGaps, ids } = this.#index;
    if (!hasGaps) return posting.length;
    let alive = 0;
    for (let at = 0; at < posting.length; at++) if (ids[posting.entries[at * 2]!] !== null) alive++;
    return alive;
  }

  #why(matches: readonly Match[], number: number, query: string, named: boolean): readonly string[] {
    const words = matches.filter((match) => match.postings.some((posting) => posting.has(number))).map((match) => match.word);
    return words.length === 0 && named ? [query.trim()] : [...new Set(words)];
  }

  /** Field norms follow the average lengths, so they are made again after changes. */
  #prepare(): void {
    const { revision, ids, lengths, totals, size: documents } = this.#index;
    if (this.#prepared === revision) return;
    const size = ids.length;
    if (this.#scores.length < size) {
      this.#scores = new Float64Array(size * 2);
      this.#evidence = new Uint8Array(size * 2);
    }
    if (this.#norms.length < size * FIELD_COUNT) this.#norms = new Float64Array(size * 2 * FIELD_COUNT);
    FIELDS.forEach(({ weight, b }, field) => {
      const average = Math.max(1, totals[field]! / Math.max(1, documents));
      for (let number = 0; number < size; number++) {
        const at = number * FIELD_COUNT + field;
        this.#norms[at] = weight / (1 - b + (b * lengths[at]!) / average);
      }
    });
    this.#prepared = revision;
  }
}

function insert(
  best: { id: string; number: number; score: number }[],
  entry: { id: string; number: number; score: number },
  k: number,
): void {
  let at = best.length;
  while (at > 0 && (best[at - 1]!.score < entry.score || (best[at - 1]!.score === entry.score && best[at - 1]!.id > entry.id))) at--;
  best.splice(at, 0, entry);
  if (best.length > k) best.pop();
}
