/** The searched parts of a document. */
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
  /** Adds weak matches after the others, for places that would stay empty. */
  readonly weak?: boolean;
  /** Orders equal scores differently for each seed; absent: by id. */
  readonly seed?: string;
}

/** A document that words have found. */
export interface FoundDocument extends Omit<RankedDocument, 'why' | 'weak'> {
  /** The matching words of the query. */
  why(): readonly string[];
}

export interface RankedDocument {
  readonly id: string;
  /** Higher is better; comparable only within one answer. */
  readonly score: number;
  /** The matching words of the query. */
  readonly why: readonly string[];
  /** The query is its name, or a prefix of it. */
  readonly named: boolean;
  /** A weak match, which only fills an empty place. */
  readonly weak: boolean;
}
