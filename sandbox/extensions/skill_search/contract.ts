import { constant, defineProtocol, method } from 'pith';
import type { RankedSkill, RankerDocument } from 'pith/skill_registry';

/** A request, and the skills that its words find. */
export interface RerankRequest {
  readonly query: string;
  /** Best first. */
  readonly found: readonly RankedSkill[];
}

export interface RerankOptions {
  readonly k: number;
  /** The ids that may be in the answer; absent: all. */
  readonly among?: readonly string[];
  /** Whether weak matches fill up the answer. */
  readonly weak?: boolean;
  /** Waits until all skills are known. Absent: uses what is known now. */
  readonly complete?: boolean;
}

/** Improves the order of what words find by other means, and adds skills that words do not find. */
export interface RerankerProvider {
  /** Identifies what the order depends on, such as a model. null: not set up, and not asked. */
  readonly rerankModel: string | null;
  /** Whether it is used even if it makes the order of the skills' examples worse. */
  readonly evenIfWorse: boolean;
  /** The skills for each request, best first; null where it has no answer now. With `complete` it rejects where it can have none. */
  rerank(
    requests: readonly RerankRequest[],
    options: RerankOptions,
    signal?: AbortSignal,
  ): Promise<readonly (readonly RankedSkill[] | null)[]>;
}

export const RerankerProvider = defineProtocol<RerankerProvider>('skills.reranker', {
  rerankModel: constant(),
  evenIfWorse: constant(),
  rerank: method({ timeoutMs: 600_000, signalAt: 2 }),
});

/** A text, and whether it should find a skill. */
export interface SearchCase {
  readonly skillId: string;
  readonly text: string;
  readonly should: 'load' | 'not_load';
  /** Its source: the frontmatter's `examples`, its `triggers`, learned texts, or the cases of the skill's `evals/`. */
  readonly from: 'examples' | 'triggers' | 'learned' | 'evals';
}

/** A ranker's result for one case. */
export interface SearchOutcome {
  readonly case: SearchCase;
  /** The skill's rank from 1; null where it is not among the first hundred. */
  readonly rank: number | null;
  /** The ids before it, or the first few where it was not found. */
  readonly before: readonly string[];
}

/** Covers the cases that should load; each has one right skill. */
export interface SearchFigures {
  readonly cases: number;
  readonly recallAt1: number;
  readonly recallAt5: number;
  readonly recallAt12: number;
  readonly ndcgAt10: number;
  readonly mrr: number;
}

export interface SearchReport {
  /** The ranker. */
  readonly name: string;
  readonly figures: SearchFigures;
  readonly outcomes: readonly SearchOutcome[];
}

export interface SearchQuestion {
  /** Ids of offered skills, which are asked for by their own examples, triggers and learned texts. */
  readonly skills: readonly string[];
  /** Further cases. Of two with one text the one from `evals` counts. */
  readonly cases: readonly SearchCase[];
  /** `lexical`, `fused`, which asks the embedding model, or an extension's id: that one is beside `lexical`. */
  readonly ranker: string;
  /** What takes the place of the offered skills of the same ids, or comes beside them. */
  readonly replacements?: readonly RankerDocument[];
}

export interface SearchAnswer {
  /** Words alone first, then the ranker that was asked about. */
  readonly reports: readonly SearchReport[];
  /** Cases that another extension's ranker knows as examples, and is not asked. */
  readonly leftOut: number;
  /** Why the embedding model should not be used; null where nothing speaks against it. */
  readonly refused: string | null;
}

/** Measures how the search finds skills. */
export interface SearchMeasurer {
  /** Sends nothing anywhere unless `ranker` asks for it: the same skills and cases give the same answer. Rejects `not_found` for an unknown ranker. */
  measure(question: SearchQuestion, signal?: AbortSignal): Promise<SearchAnswer>;
}

export const SearchMeasurer = defineProtocol<SearchMeasurer>('skills.search_measure', {
  measure: method({ timeoutMs: 600_000, signalAt: 1 }),
});
