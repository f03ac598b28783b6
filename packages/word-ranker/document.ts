/** What is searched of one document. */
export interface TextDocument {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** What people say when they want it. */
  readonly examples: readonly string[];
  /** At most its first 20,000 characters are searched. */
  readonly body: string;
}

export const BODY_CHARACTERS = 20_000;

export interface RankOptions {
  readonly k: number;
  /** Only ids for which this is true are ranked. */
  readonly among?: (id: string) => boolean;
  /** Also what has little in common with the query, after the rest: for places that have room anyway. */
  readonly weak?: boolean;
  /** Equal scores are in another order for each seed; absent: by id. */
  readonly seed?: string;
}

/** What words have found. */
export interface FoundDocument extends Omit<RankedDocument, 'why' | 'weak'> {
  /** The query's words that matched. */
  why(): readonly string[];
}

export interface RankedDocument {
  readonly id: string;
  /** Higher is better; comparable only within one answer. */
  readonly score: number;
  /** The query's words that matched. */
  readonly why: readonly string[];
  /** The query is its name, or the beginning of it. */
  readonly named: boolean;
  /** It fills up what would be empty: it has little to do with the query. */
  readonly weak: boolean;
}
