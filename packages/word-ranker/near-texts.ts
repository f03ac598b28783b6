import type { FoundDocument, RankedDocument, RankOptions, TextDocument } from './document.ts';
import { bytesOf } from './packed.ts';
import { direction, nearness, type WordVectors } from './word-vectors.ts';

/** The parameters of the order, chosen with test needs of which half were kept apart, and with MetaTool. */
const SIMILAR = {
  /** The weight of each part in a document's direction. */
  name: 1,
  description: 2,
  tags: 1,
  examples: 1,
  body: 1,
  /** Characters of a body that count. */
  head: 1500,
  /** The weight of nearness relative to the word score. */
  weight: 0.4,
  /** With more documents than this, only those that words have found are compared: among many, the nearest are near by chance. */
  searched: 1000,
  /** The least nearness of a document without a word of the query, and how many of them are considered. */
  near: 0.35,
  added: 100,
  /** A match is weak up to this, times log10 of a third of the number of documents, since more documents match more by chance. */
  weak: 0.75,
} as const;

/** The reason shown for a document that shares no word with the query. */
const BY_MEANING: readonly string[] = ['similar meaning'];

export interface OrderOptions extends Pick<RankOptions, 'k' | 'among' | 'weak'> {
  /** The number of all documents. */
  readonly size: number;
}

interface Candidate {
  readonly found: FoundDocument;
  readonly near: number;
  /** From words and nearness together. */
  readonly score: number;
}

/** Orders documents by meaning: improves the order of what words have found, and adds documents that share no word with the query. */
export class NearTexts {
  /** A number is a place in `#kept`. */
  readonly #directions = new Map<string, Float32Array | number>();
  #kept = new Float32Array(0);

  constructor(private readonly vectors: WordVectors) {}

  upsert(document: TextDocument): void {
    const { id, name, description, tags, examples, body } = document;
    const sum = new Float32Array(this.vectors.dimensions);
    const add = (text: string, weight: number): void => {
      const part = text === '' ? null : this.vectors.of(text);
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

  /** The directions of these ids, one after the other; zeros for an id without one. */
  encoded(ids: readonly string[]): Uint8Array {
    const { dimensions } = this.vectors;
    const all = new Float32Array(ids.length * dimensions);
    for (const [at, id] of ids.entries()) {
      const own = this.#directionOf(id);
      if (own !== undefined) all.set(own, at * dimensions);
    }
    return bytesOf(all);
  }

  restore(ids: readonly string[], bytes: Uint8Array): void {
    this.#kept = new Float32Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength / 4);
    for (const [at, id] of ids.entries()) this.#directions.set(id, at);
  }

  /** The best of what the words found and of what is near the query; weak matches last. */
  order(query: string, found: readonly FoundDocument[], { size, k, among, weak = false }: OrderOptions): readonly RankedDocument[] {
    const [strong, rest]: [RankedDocument[], RankedDocument[]] = [[], []];
    for (const { found: document, near, score } of this.#candidates(query, found, among)) {
      const why = document.why();
      const isWeak = !document.named && this.#strengthOf(document.score, why, near) <= leastStrength(size);
      (isWeak ? rest : strong).push({ ...document, why, score: Math.max(0, score), weak: isWeak });
      if (strong.length === k) break;
    }
    return [...strong, ...(weak ? rest : [])].slice(0, k);
  }

  /** Best first. */
  #candidates(query: string, found: readonly FoundDocument[], among: OrderOptions['among']): readonly Candidate[] {
    const asked = this.vectors.of(query);
    const all = found.map((document) => ({ found: document, near: asked === null ? 0 : this.#nearness(document.id, asked) }));
    if (asked !== null) all.push(...this.#beyond(found, asked, among));
    const scores = spreadOf(all.map((one) => one.found.score));
    const nears = spreadOf(all.map(({ near }) => near));
    const factor = (SIMILAR.weight * (scores.deviation || 1)) / (nears.deviation || 1);
    return all
      .map((one) => ({ ...one, score: one.found.score + factor * (one.near - nears.mean) }))
      .sort((a, b) => Number(b.found.named) - Number(a.found.named) || b.score - a.score);
  }

  /** Casual remarks have frequent words: a match counts as far as its words are rare and the document is near. */
  #strengthOf(score: number, why: readonly string[], near: number): number {
    const rarity = why === BY_MEANING ? 0 : why.reduce((sum, word) => sum + this.vectors.rarity(word), 0);
    return score * (rarity + Math.max(0, near));
  }

  #nearness(id: string, asked: Float32Array): number {
    const own = this.#directionOf(id);
    return own === undefined ? 0 : nearness(asked, own);
  }

  #directionOf(id: string): Float32Array | undefined {
    const own = this.#directions.get(id);
    if (typeof own !== 'number') return own;
    const { dimensions } = this.vectors;
    return this.#kept.subarray(own * dimensions, (own + 1) * dimensions);
  }

  #beyond(found: readonly FoundDocument[], asked: Float32Array, among: OrderOptions['among']): readonly Omit<Candidate, 'score'>[] {
    if (this.#directions.size > SIMILAR.searched) return [];
    const known = new Set(found.map(({ id }) => id));
    const beyond: Omit<Candidate, 'score'>[] = [];
    for (const id of this.#directions.keys()) {
      if (known.has(id) || (among !== undefined && !among(id))) continue;
      const near = this.#nearness(id, asked);
      if (near < SIMILAR.near) continue;
      beyond.push({ found: { id, score: 0, why: () => BY_MEANING, named: false }, near });
    }
    return beyond.sort((a, b) => b.near - a.near).slice(0, SIMILAR.added);
  }
}

function leastStrength(documents: number): number {
  return SIMILAR.weak * Math.log10(Math.max(3, documents) / 3);
}

function spreadOf(values: readonly number[]): { readonly mean: number; readonly deviation: number } {
  const count = Math.max(1, values.length);
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  return { mean, deviation: Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count) };
}
