import { Bm25fRanker } from './bm25f.ts';
import type { RankedDocument, RankOptions, TextDocument } from './document.ts';
import { NearTexts } from './near-texts.ts';
import type { WordVectors } from './word-vectors.ts';

/** So many that words find are put into order. */
const DEPTH = 200;

/** Ranks by words and, with a table of vectors, by what they mean. */
export class TextRanker {
  readonly #words = new Bm25fRanker();
  readonly #near: NearTexts | null;

  constructor(vectors: WordVectors | null) {
    this.#near = vectors === null ? null : new NearTexts(vectors);
  }

  upsert(document: TextDocument): void {
    this.#words.upsert(document);
    this.#near?.upsert(document);
  }

  remove(id: string): void {
    this.#words.remove(id);
    this.#near?.remove(id);
  }

  rank(query: string, options: RankOptions): readonly RankedDocument[] {
    const near = this.#near;
    if (near === null) return this.#words.rank(query, options);
    const found = this.#words.find(query, { ...options, k: Math.max(options.k, DEPTH) });
    return near.order(query, found, { size: this.#words.size, ...options });
  }
}
