import { Bm25fRanker } from './bm25f.ts';
import type { RankedDocument, RankOptions, TextDocument } from './document.ts';
import { NearTexts } from './near-texts.ts';
import { packed, unpacked } from './packed.ts';
import type { WordVectors } from './word-vectors.ts';

/** How many documents that words find are put into order. */
const DEPTH = 200;

/** Ranks by words and, with a table of vectors, by meaning. */
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

  /** All documents with the caller's notes, in parts, for `restore`; null where one changed meanwhile. */
  *encoded(notes: Uint8Array): Generator<void, Uint8Array | null> {
    const found = yield* this.#words.encoded();
    return found === null ? null : packed([notes, this.#near?.encoded(found.ids) ?? new Uint8Array(0), ...found.parts]);
  }

  /**
   * Loads the output of `encoded`, made with the same table of vectors, into an empty ranker, and returns the notes. The caller guarantees
   * that the bytes are complete and aligned to eight bytes; they stay in use.
   */
  restore(bytes: Uint8Array): Uint8Array {
    const [notes, near, ...words] = unpacked(bytes);
    const ids = this.#words.restore(words);
    this.#near?.restore(ids, near!);
    return notes!;
  }

  rank(query: string, options: RankOptions): readonly RankedDocument[] {
    const near = this.#near;
    if (near === null) return this.#words.rank(query, options);
    const found = this.#words.find(query, { ...options, k: Math.max(options.k, DEPTH) });
    return near.order(query, found, { size: this.#words.size, ...options });
  }
}
