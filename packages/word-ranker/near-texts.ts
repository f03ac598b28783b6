import type { RankedDocument, TextDocument } from './document.ts';
import { direction, nearness, type WordVectors } from './word-vectors.ts';

/** What the order goes by. Chosen by cross-validation on needs of which half were kept untouched. */
const SIMILAR = {
  /** Why a document is found that shares no word with the query. */
  why: 'similar meaning',
  /** What each part of a document adds to its direction. */
  name: 1,
  description: 2,
  tags: 1,
  examples: 1,
  body: 1,
  /** Characters of a body that count. */
  head: 1500,
  /** Of nearness, beside the score of the words. */
  weight: 0.4,
  /** Among more documents than this, only those are compared that words have found: the best others would be near by chance. */
  searched: 1000,
  /** Documents without a word of the query must be as near as this, and so many of them at most are looked at. */
  near: 0.35,
  added: 100,
  /** A match is weak up to this, times the tens in a third of the number of documents: among more of them, more match by chance. */
  weak: 0.75,
} as const;

export interface OrderOptions {
  /** How many documents there are in all. */
  readonly size: number;
  readonly among?: (id: string) => boolean;
}

interface Candidate {
  readonly document: RankedDocument;
  readonly near: number;
}

/** Documents by what their words mean: puts what words have found into a better order, and adds what shares no word with the query. */
export class NearTexts {
  readonly #vectors: WordVectors;
  readonly #directions = new Map<string, Float32Array>();

  constructor(vectors: WordVectors) {
    this.#vectors = vectors;
  }

  upsert(document: TextDocument): void {
    const { id, name, description, tags, examples, body } = document;
    const sum = new Float32Array(this.#vectors.dimensions);
    const add = (text: string, weight: number): void => {
      const part = text === '' ? null : this.#vectors.of(text);
      if (part !== null) for (let at = 0; at < sum.length; at++) sum[at]! += weight * part[at]!;
    };
    add(name === id ? id : `${id} ${name}`, SIMILAR.name);
    add(description, SIMILAR.description);
    add(tags.join(' '), SIMILAR.tags);
    add(examples.join('\n'), SIMILAR.examples);
    add(body.slice(0, SIMILAR.head), SIMILAR.body);
    const own = direction(sum);
    if (own === null) this.#directions.delete(id);
    else this.#directions.set(id, own);
  }

  remove(id: string): void {
    this.#directions.delete(id);
  }

  /** What the ranker of words has found, and what lies near the query, best first. */
  order(query: string, found: readonly RankedDocument[], { size, among }: OrderOptions): readonly RankedDocument[] {
    const asked = this.#vectors.of(query);
    const candidates = found.map((document) => ({ document, near: asked === null ? 0 : this.#nearness(document.id, asked) }));
    if (asked !== null) candidates.push(...this.#beyond(found, asked, among));
    const scores = spreadOf(candidates.map(({ document }) => document.score));
    const nears = spreadOf(candidates.map(({ near }) => near));
    const factor = (SIMILAR.weight * (scores.deviation || 1)) / (nears.deviation || 1);
    return candidates
      .map(({ document, near }) => ({
        ...document,
        score: document.score + factor * (near - nears.mean),
        weak: this.#isWeak(document, near, size),
      }))
      .sort((a, b) => Number(b.named) - Number(a.named) || b.score - a.score)
      .map((ranked) => ({ ...ranked, score: Math.max(0, ranked.score) }));
  }

  /** What people say in passing has frequent words: a match counts as far as its words are rare and the document is near. */
  #isWeak({ score, named, why }: RankedDocument, near: number, size: number): boolean {
    if (named) return false;
    const rarity = why.reduce((sum, word) => sum + (word === SIMILAR.why ? 0 : this.#vectors.rarity(word)), 0);
    return score * (rarity + Math.max(0, near)) <= SIMILAR.weak * Math.log10(Math.max(3, size) / 3);
  }

  #nearness(id: string, asked: Float32Array): number {
    const own = this.#directions.get(id);
    return own === undefined ? 0 : nearness(asked, own);
  }

  #beyond(found: readonly RankedDocument[], asked: Float32Array, among: OrderOptions['among']): readonly Candidate[] {
    if (this.#directions.size > SIMILAR.searched) return [];
    const known = new Set(found.map(({ id }) => id));
    const beyond: Candidate[] = [];
    for (const [id, own] of this.#directions) {
      const near = nearness(asked, own);
      if (near < SIMILAR.near || known.has(id) || (among !== undefined && !among(id))) continue;
      beyond.push({ document: { id, score: 0, why: [SIMILAR.why], named: false, weak: false }, near });
    }
    return beyond.sort((a, b) => b.near - a.near).slice(0, SIMILAR.added);
  }
}

function spreadOf(values: readonly number[]): { readonly mean: number; readonly deviation: number } {
  const count = Math.max(1, values.length);
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  return { mean, deviation: Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count) };
}
