import type { FoundDocument, RankedDocument, RankOptions, TextDocument } from './document.ts';
import { NAME_MATCH, type NameIndex } from './name-index.ts';
import { hasCountOutsideBody, PACKING, type Posting } from './posting.ts';
import { countTerms, FIELD_COUNT, TermIndex } from './term-index.ts';
import { synonymsOf } from './synonyms.ts';
import { markOf, NearbyTerms } from './term-positions.ts';
import { queryTerms, type QueryTerm } from './tokens.ts';

/** One word that only the body has is no evidence, unless it is the whole query. */
const WORDS_OF_BODY = 2;
const STRONG = 0x80;
/** In a short query, which is typed to search, adjacent words belong together; in a chat message they are adjacent by chance. */
const SHORT_QUERY = 6;
/** How many of the best are checked for adjacent words; the others stay below them. */
const LOOKED_AT = 60;

/** A query word with the postings of all terms that count for it. */
interface Match {
  readonly term: string;
  readonly word: string;
  readonly parts: readonly { readonly posting: Posting; readonly weight: number }[];
}

interface Entry {
  readonly id: string;
  readonly number: number;
  /** Orders equal scores. */
  readonly place: number;
  score: number;
}

/** BM25F; exact after every change. */
export class Bm25fRanker {
  readonly #index = new TermIndex();
  #norms = new Float64Array(0);
  #scores = new Float64Array(0);
  /** The number of query words that each document has, and whether one of them is more than a word of its body. */
  #evidence = new Uint8Array(0);
  /** The last query word, from 1, that was counted as evidence for each document. */
  #counted = new Uint8Array(0);
  /** The revision of the index for which the norms were computed. */
  #prepared = -1;

  constructor(private readonly parameters: RankerParameters = PARAMETERS) {}

  /** The number of documents. */
  get size(): number {
    return this.#index.size;
  }

  upsert(document: TextDocument): void {
    this.#index.add(document, countTerms(document));
  }

  remove(id: string): void {
    this.#index.remove(id);
  }

  /** All documents, in parts, for `restore`; null where one changed meanwhile. */
  *encoded(): Generator<void, { readonly ids: readonly string[]; readonly parts: readonly Uint8Array[] } | null> {
    const found = yield* this.#index.encoded();
    return found === null
      ? null
      : { ids: found.ids, parts: [Buffer.from(JSON.stringify(this.#index.names.entries(found.ids))), ...found.parts] };
  }

  restore([names, ...parts]: readonly Uint8Array[]): readonly string[] {
    const entries = JSON.parse(Buffer.from(names!).toString()) as ReturnType<NameIndex['entries']>;
    this.#index.names.restore(entries);
    const ids = entries.map(([id]) => id);
    this.#index.restore(ids, parts);
    return ids;
  }

  rank(query: string, options: RankOptions): readonly RankedDocument[] {
    return this.find(query, options).map(({ why, ...found }) => ({ ...found, why: why(), weak: false }));
  }

  /** As `rank`, but looks up the matching words only when asked. */
  find(query: string, { k, among, weak = false, seed }: RankOptions): readonly FoundDocument[] {
    this.#prepare();
    const index = this.#index;
    const terms = queryTerms(query);
    const matches = terms.map((term) => this.#matchOf(term)).filter(({ parts }) => parts.length > 0);
    const touched: number[] = [];
    matches.forEach((match, at) => this.#score(match, (at % 255) + 1, touched));
    const needed = weak ? 0 : Math.min(WORDS_OF_BODY, terms.length);
    const named = index.names.find(query);
    const highest = 3 * touched.reduce((most, number) => Math.max(most, this.#scores[number]!), 0) + 1;
    const looked = matches.length > 1 && terms.length <= SHORT_QUERY ? LOOKED_AT : 0;
    const best: Entry[] = [];
    for (const [id, strength] of named) {
      const number = index.numberOf(id)!;
      if (this.#scores[number] === 0) touched.push(number);
      this.#scores[number]! += strength * highest;
      this.#evidence[number]! |= STRONG;
    }
    const kept = Math.max(k, looked);
    const placeOf = placesFor(seed);
    for (const number of touched) {
      const score = this.#scores[number]!;
      const evidence = this.#evidence[number]!;
      this.#scores[number] = 0;
      this.#evidence[number] = 0;
      this.#counted[number] = 0;
      if (evidence < needed) continue; // noise
      if (best.length === kept && score < best[kept - 1]!.score) continue;
      const id = index.ids[number]!;
      if (among === undefined || among(id)) insert(best, { id, number, place: placeOf(id), score }, kept);
    }
    const ranked = looked === 0 ? best : this.#withPairs(matches, best, looked).slice(0, k);
    return ranked.map(({ id, number, score }) => {
      const strength = named.get(id) ?? NAME_MATCH.none;
      return {
        id,
        score,
        why: () => this.#why(matches, number, query, strength > NAME_MATCH.none),
        named: strength === NAME_MATCH.exact || (strength === NAME_MATCH.prefix && terms.length > 0),
      };
    });
  }

  /** Adds the part of one query word to every document that has it. */
  #score({ parts }: Match, place: number, touched: number[]): void {
    const norms = this.#norms;
    const { ids } = this.#index;
    const { k1 } = this.parameters;
    for (const { posting, weight } of parts) {
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
        this.#scores[number]! += (weight * frequency) / (k1 + frequency);
        if (this.#counted[number] === place) continue;
        this.#counted[number] = place;
        if ((this.#evidence[number]! & (STRONG - 1)) < STRONG - 1) this.#evidence[number]!++;
      }
    }
  }

  /** The best in their order, after adding the bonus for adjacent words. */
  #withPairs(matches: readonly Match[], best: readonly Entry[], looked: number): readonly Entry[] {
    const weights = matches.map(({ parts }) => parts[0]!.weight);
    const nearby = new NearbyTerms(
      matches.map(({ term }) => markOf(term)),
      weights,
      this.parameters.pair,
    );
    const head: Entry[] = [];
    for (const entry of best.slice(0, looked)) {
      entry.score += nearby.score(this.#index.positions(entry.number));
      insert(head, entry, looked);
    }
    nearby.release();
    return [...head, ...best.slice(looked)];
  }

  #matchOf({ term, word, prefix }: QueryTerm): Match {
    const index = this.#index;
    const parts: { posting: Posting; weight: number }[] = [];
    const add = (posting: Posting | undefined, weight: number, limit = Infinity): void => {
      const found = posting === undefined ? 0 : this.#alive(posting);
      if (found > 0) parts.push({ posting: posting!, weight: weight * Math.min(limit, this.#idf(found)) });
    };
    if (prefix) for (const posting of index.postingsWithPrefix(term)) add(posting, 1);
    else {
      const { misspelt, synonym } = this.parameters;
      add(index.posting(term), 1);
      const own = parts[0]?.weight;
      if (synonym > 0) for (const other of synonymsOf(term)) add(index.posting(other), synonym, own);
      if (parts.length === 0) for (const near of index.near(term)) add(index.posting(near), misspelt);
    }
    return { term, word, parts };
  }

  #idf(found: number): number {
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
    const words = matches.filter((match) => match.parts.some(({ posting }) => posting.has(number))).map((match) => match.word);
    return words.length === 0 && named ? [query.trim()] : [...new Set(words)];
  }

  /** Recomputes the field norms after changes, since they depend on average lengths. */
  #prepare(): void {
    const { revision, ids, lengths, totals, size: documents } = this.#index;
    if (this.#prepared === revision) return;
    const size = ids.length;
    if (this.#scores.length < size) {
      this.#scores = new Float64Array(size * 2);
      this.#evidence = new Uint8Array(size * 2);
      this.#counted = new Uint8Array(size * 2);
    }
    if (this.#norms.length < size * FIELD_COUNT) this.#norms = new Float64Array(size * 2 * FIELD_COUNT);
    this.parameters.fields.forEach(({ weight, b }, field) => {
      const average = Math.max(1, totals[field]! / Math.max(1, documents));
      for (let number = 0; number < size; number++) {
        const at = number * FIELD_COUNT + field;
        this.#norms[at] = weight / (1 - b + (b * lengths[at]!) / average);
      }
    });
    this.#prepared = revision;
  }
}

/** Keeps the list sorted, the best first, and at most `limit` long. */
function insert(best: Entry[], entry: Entry, limit: number): void {
  let at = best.length;
  while (at > 0 && isBetter(entry, best[at - 1]!)) at--;
  if (at === limit) return;
  best.splice(at, 0, entry);
  if (best.length > limit) best.pop();
}

function isBetter(one: Entry, other: Entry): boolean {
  if (one.score !== other.score) return one.score > other.score;
  return one.place === other.place ? one.id < other.id : one.place < other.place;
}

/** A pseudo-random order of ids for a seed; without one, all are equal. FNV-1a, mixed once more to separate similar ids. */
function placesFor(seed: string | undefined): (id: string) => number {
  if (seed === undefined) return () => 0;
  const start = hashed(0x811c9dc5, seed);
  return (id) => {
    const hash = hashed(start, id);
    const mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    return (mixed ^ (mixed >>> 13)) >>> 0;
  };
}

function hashed(start: number, text: string): number {
  let hash = start;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** The ranker's parameters, chosen by cross-validation. */
export interface RankerParameters {
  /** The weight of a field, and how strongly its length is discounted, in the order of the index's fields. */
  readonly fields: readonly { readonly name: string; readonly weight: number; readonly b: number }[];
  /** How soon repetitions of a word stop counting. */
  readonly k1: number;
  /** The weight of a misspelt word, relative to the word itself. */
  readonly misspelt: number;
  /** The weight of a synonym, relative to the word itself. */
  readonly synonym: number;
  /** The bonus for two query words that a skill has next to each other, or with one between them. */
  readonly pair: { readonly adjacent: number; readonly apart: number; readonly inDescription: number; readonly inBody: number };
}

export const PARAMETERS: RankerParameters = {
  fields: [
    { name: 'name', weight: 3, b: 0.5 },
    { name: 'tags', weight: 2, b: 0.5 },
    { name: 'description', weight: 2, b: 0.5 },
    { name: 'examples', weight: 1, b: 0.1 },
    { name: 'body', weight: 0.45, b: 0.75 },
  ],
  k1: 1.5,
  misspelt: 0.6,
  synonym: 0.3,
  pair: { adjacent: 0.7, apart: 0.5, inDescription: 0.6, inBody: 0.4 },
};
