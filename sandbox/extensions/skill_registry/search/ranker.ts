import type { RankedSkill as Ranked, RankerDocument as SearchDocument } from 'pith';

/** What is searched of a skill; `version` and `body` are empty until its body has been read. */
export type { RankedSkill as Ranked, RankerDocument as SearchDocument } from 'pith';

/** So much of a body is searched, whoever ranks. */
export const BODY_CHARACTERS = 20_000;

export interface RankOptions {
  readonly k: number;
  /** Who asks, for a ranker that knows agents apart; words do not. */
  readonly agentId?: string;
  /** Only ids for which this is true are ranked. */
  readonly among?: (id: string) => boolean;
  /** Also what has little in common with the query, after the rest: for places that have room anyway. */
  readonly weak?: boolean;
  /** Equal scores stand in an order of their own for each seed; absent: by id. */
  readonly seed?: string;
}

/** The seam of skill search. */
export interface SkillRanker {
  upsert(document: SearchDocument): void;
  remove(id: string): void;
  /** Best first, at most `k`; empty when nothing matches well. */
  rank(query: string, options: RankOptions): readonly Ranked[];
}

/** What is counted of a document: all that a ranker needs to know of it. */
export interface CountedDocument {
  readonly id: string;
  readonly version: string;
  readonly name: string;
  readonly tags: readonly string[];
  /** Terms of each field. */
  readonly lengths: readonly number[];
  /** Marks of its first terms. */
  readonly trail: Uint16Array;
  /** Of each term how often each field has it, packed. */
  readonly counts: ReadonlyMap<string, number>;
}

/** The skills among which a ranker's documents are a few. */
export interface Collection {
  readonly size: number;
  /** Terms of each field of all of them together. */
  readonly totals: ArrayLike<number>;
  /** How many of them have a term. */
  holding(term: string): number;
}

/** A ranker whose documents can be kept, and brought back without being counted again. */
export interface StoredRanker extends SkillRanker {
  /** Ids of all documents. */
  known(): Iterable<string>;
  /** The version that a document was given with; null when there is none of that id. */
  versionOf(id: string): string | null;
  /** Takes the place of a document by one that has been counted. */
  add(counted: CountedDocument): void;
  /** What was kept, in pieces, between which others may work; `bodies`: also the words that only a body has. Only into an empty ranker; throws where it makes no sense. */
  load(catalog: CatalogDbRows, options: { readonly bodies: boolean }): Iterable<void>;
  /** Every term that counts for a query. */
  related(query: string): readonly string[];
  readonly size: number;
  readonly totals: ArrayLike<number>;
}

/** What was kept of skills, in pieces. */
export interface CatalogDbRows {
  rows(): Iterable<readonly { readonly id: string; readonly version: string; readonly record: Uint8Array }[]>;
  /** All terms in the order of their numbers, from 1. */
  terms(): Iterable<readonly string[]>;
}
