/** What is searched of a skill; `version` and `body` are empty until its body has been read. */
export type { RankedSkill as Ranked, RankerDocument as SearchDocument } from '../contract.ts';

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
