/** What can be searched of one skill. `body`, with its headings, is empty until it has been read. */
export interface SearchDocument {
  readonly id: string;
  /** Names the version of the file that `body` was read from; empty until it has been read. */
  readonly version: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** User phrasings and when-to-use sentences. */
  readonly examples: readonly string[];
  readonly body: string;
}

export interface RankOptions {
  readonly k: number;
  readonly agentId?: string;
  /** Only ids for which this is true are ranked. */
  readonly accept?: (id: string) => boolean;
  /** Also what has little in common with the query, after the rest: for places that have room anyway. */
  readonly weak?: boolean;
  /** Equal scores stand in an order of their own for each seed; absent: by id. */
  readonly seed?: string;
}

export interface Ranked {
  readonly id: string;
  /** Higher is better; comparable only within one answer. */
  readonly score: number;
  /** The query's words that matched, as they were written. */
  readonly why: readonly string[];
}

/** The seam of skill search. */
export interface SkillRanker {
  upsert(document: SearchDocument): void;
  remove(id: string): void;
  /** Best first, at most `k`; empty when nothing matches well. */
  rank(query: string, options: RankOptions): readonly Ranked[];
}

/** A ranker that can be written down and brought back. Both work in pieces, between which others may work. */
export interface StoredRanker extends SkillRanker {
  /** Ids of all documents. */
  known(): Iterable<string>;
  /** The version that a document was given with; null when there is none of that id. */
  versionOf(id: string): string | null;
  /** The bytes to store; null at the end says that they became useless meanwhile. */
  dump(): Iterable<Uint8Array | null>;
  /** Only into an empty ranker. Throws where the bytes are not what `dump` made; the ranker is then of no use. */
  restore(bytes: Uint8Array): Iterable<void>;
}
