/** What can be searched of one skill. `headings` and `body` are empty until the body has been read. */
export interface SearchDocument {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** User phrasings and when-to-use sentences. */
  readonly examples: readonly string[];
  readonly headings: string;
  readonly body: string;
}

export interface RankOptions {
  readonly k: number;
  readonly agentId?: string;
  /** Only ids for which this is true are ranked. */
  readonly accept?: (id: string) => boolean;
  /** Also what has little in common with the query, after the rest: for places that have room anyway. */
  readonly weak?: boolean;
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
  /** Best first, at most `k`; empty when nothing matches well. Equal scores are sorted by id. */
  rank(query: string, options: RankOptions): readonly Ranked[];
}
