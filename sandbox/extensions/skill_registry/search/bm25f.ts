import { NameIndex } from './name-index.ts';
import { countIn, PACKING, Posting } from './postings.ts';
import type { Ranked, RankOptions, SearchDocument, SkillRanker } from './ranker.ts';
import { Spelling } from './spelling.ts';
import { eachTerm, queryTerms, type QueryTerm } from './tokens.ts';

/** A field's weight, and how strongly a long one is discounted. */
export const FIELDS = [
  { name: 'name', weight: 3, b: 0.5 },
  { name: 'tags', weight: 2, b: 0.5 },
  { name: 'description', weight: 2.5, b: 0.75 },
  { name: 'examples', weight: 1, b: 0.2 },
  { name: 'body', weight: 0.35, b: 0.75 },
] as const;

const K1 = 1.5;
const MISSPELT = 0.6;
const BODY_CHARACTERS = 20_000;
/** One word that only the body has is no evidence, unless it is all that was asked. */
const WORDS_OF_BODY = 2;
const STRONG = 0x80;
/** The packed counts of every field but the body. */
const OUTSIDE_BODY = (1 << PACKING[4].shift) - 1;

/** The default ranker: BM25F, exact after every change. */
export function createRanker(): SkillRanker {
  return new Bm25fRanker();
}

interface Match {
  readonly word: string;
  readonly weight: number;
  readonly postings: readonly Posting[];
}

class Bm25fRanker implements SkillRanker {
  readonly #postings = new Map<string, Posting>();
  readonly #numbers = new Map<string, number>();
  readonly #names = new NameIndex();
  readonly #spelling = new Spelling();
  #ids: (string | null)[] = [];
  #lengths = new Uint32Array(64 * FIELDS.length);
  #totals = new Float64Array(FIELDS.length);
  #norms = new Float64Array(0);
  #scores = new Float64Array(0);
  /** How many query words each document has, and whether one of them is more than a word of its body. */
  #evidence = new Uint8Array(0);
  #stale = true;

  upsert(document: SearchDocument): void {
    this.remove(document.id);
    const number = this.#ids.length;
    this.#ids.push(document.id);
    this.#numbers.set(document.id, number);
    this.#names.set(document.id, document.name, document.tags);
    this.#grow(number);
    const counts = new Map<string, number>();
    textsOf(document).forEach((text, field) => {
      let length = 0;
      eachTerm(text, (term) => {
        length++;
        counts.set(term, countIn(counts.get(term) ?? 0, field));
      });
      this.#lengths[number * FIELDS.length + field] = length;
      this.#totals[field]! += length;
    });
    for (const [term, packed] of counts) {
      let posting = this.#postings.get(term);
      if (posting === undefined) this.#postings.set(flat(term), (posting = new Posting()));
      posting.push(number, packed);
      if ((packed & OUTSIDE_BODY) !== 0) this.#spelling.add(term);
    }
    this.#stale = true;
  }

  remove(id: string): void {
    const number = this.#numbers.get(id);
    if (number === undefined) return;
    this.#numbers.delete(id);
    this.#names.delete(id);
    this.#ids[number] = null;
    for (let field = 0; field < FIELDS.length; field++) this.#totals[field]! -= this.#lengths[number * FIELDS.length + field]!;
    this.#stale = true;
    if (this.#ids.length - this.#numbers.size > Math.max(64, this.#numbers.size / 4)) this.#compact();
  }

  rank(query: string, { k, accept, weak = false }: RankOptions): readonly Ranked[] {
    this.#prepare();
    const terms = queryTerms(query);
    const matches = terms.map((term) => this.#matchOf(term)).filter((match) => match.postings.length > 0);
    const touched: number[] = [];
    for (const match of matches) this.#score(match, touched);
    const needed = weak ? 0 : Math.min(WORDS_OF_BODY, terms.length);
    const named = this.#names.find(query);
    const highest = touched.reduce((most, number) => Math.max(most, this.#scores[number]!), 0) + 1;
    const best: { id: string; number: number; score: number }[] = [];
    for (const [id, strength] of named) {
      const number = this.#numbers.get(id)!;
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
      const id = this.#ids[number]!;
      if (accept === undefined || accept(id)) insert(best, { id, number, score }, k);
    }
    return best.map(({ id, number, score }) => ({ id, score, why: this.#why(matches, number, query, named.has(id)) }));
  }

  /** Adds one query word's part to every document that has it. */
  #score(match: Match, touched: number[]): void {
    for (const posting of match.postings) {
      const weight = match.weight * this.#idf(posting);
      const { entries, length } = posting;
      const norms = this.#norms;
      for (let at = 0; at < length; at++) {
        const number = entries[at * 2]!;
        if (this.#ids[number] === null) continue;
        const packed = entries[at * 2 + 1]!;
        let frequency = 0;
        if ((packed & OUTSIDE_BODY) !== 0) this.#evidence[number]! |= STRONG;
        for (let field = 0; field < FIELDS.length; field++) {
          const { shift, max } = PACKING[field]!;
          const count = (packed >>> shift) & max;
          if (count > 0) frequency += count * norms[number * FIELDS.length + field]!;
        }
        if (this.#scores[number] === 0) touched.push(number);
        this.#scores[number]! += (weight * frequency) / (K1 + frequency);
        if ((this.#evidence[number]! & (STRONG - 1)) < STRONG - 1) this.#evidence[number]!++;
      }
    }
  }

  #matchOf({ term, word, prefix }: QueryTerm): Match {
    if (prefix) {
      const postings = [...this.#postings].filter(([known]) => known.startsWith(term)).map(([, posting]) => posting);
      return { word, weight: 1, postings: postings.filter((posting) => this.#alive(posting) > 0) };
    }
    const posting = this.#postings.get(term);
    if (posting !== undefined && this.#alive(posting) > 0) return { word, weight: 1, postings: [posting] };
    const near = this.#spelling.near(term).map((known) => this.#postings.get(known)!);
    return { word, weight: MISSPELT, postings: near.filter((found) => found !== undefined && this.#alive(found) > 0) };
  }

  #idf(posting: Posting): number {
    const found = this.#alive(posting);
    return Math.log(1 + (this.#numbers.size - found + 0.5) / (found + 0.5));
  }

  #alive(posting: Posting): number {
    if (this.#numbers.size === this.#ids.length) return posting.length;
    let alive = 0;
    for (let at = 0; at < posting.length; at++) if (this.#ids[posting.entries[at * 2]!] !== null) alive++;
    return alive;
  }

  #why(matches: readonly Match[], number: number, query: string, named: boolean): readonly string[] {
    const words = matches.filter((match) => match.postings.some((posting) => posting.has(number))).map((match) => match.word);
    return words.length === 0 && named ? [query.trim()] : [...new Set(words)];
  }

  /** Field norms follow the average lengths, so they are made again after changes. */
  #prepare(): void {
    if (!this.#stale) return;
    const size = this.#ids.length;
    if (this.#scores.length < size) {
      this.#scores = new Float64Array(size * 2);
      this.#evidence = new Uint8Array(size * 2);
    }
    if (this.#norms.length < size * FIELDS.length) this.#norms = new Float64Array(size * 2 * FIELDS.length);
    FIELDS.forEach(({ weight, b }, field) => {
      const average = Math.max(1, this.#totals[field]! / Math.max(1, this.#numbers.size));
      for (let number = 0; number < size; number++) {
        const at = number * FIELDS.length + field;
        this.#norms[at] = weight / (1 - b + (b * this.#lengths[at]!) / average);
      }
    });
    this.#stale = false;
  }

  #grow(number: number): void {
    if ((number + 1) * FIELDS.length <= this.#lengths.length) return;
    const grown = new Uint32Array(this.#lengths.length * 2);
    grown.set(this.#lengths);
    this.#lengths = grown;
  }

  #compact(): void {
    const numbers = new Int32Array(this.#ids.length).fill(-1);
    const ids: string[] = [];
    this.#ids.forEach((id, number) => {
      if (id === null) return;
      this.#lengths.copyWithin(ids.length * FIELDS.length, number * FIELDS.length, (number + 1) * FIELDS.length);
      numbers[number] = ids.length;
      this.#numbers.set(id, ids.length);
      ids.push(id);
    });
    this.#ids = ids;
    for (const [term, posting] of this.#postings) {
      posting.renumber(numbers);
      if (posting.length === 0) this.#postings.delete(term);
    }
  }
}

function textsOf(document: SearchDocument): readonly string[] {
  const name = document.name === document.id ? document.id : `${document.id} ${document.name}`;
  const body = `${document.headings}\n${document.body.slice(0, BODY_CHARACTERS)}`;
  return [name, document.tags.join(' '), document.description, document.examples.join('\n'), body];
}

function insert(best: { id: string; number: number; score: number }[], entry: { id: string; number: number; score: number }, k: number): void {
  let at = best.length;
  while (at > 0 && (best[at - 1]!.score < entry.score || (best[at - 1]!.score === entry.score && best[at - 1]!.id > entry.id))) at--;
  best.splice(at, 0, entry);
  if (best.length > k) best.pop();
}

/** A copy that does not keep the text alive that it was cut from. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}
