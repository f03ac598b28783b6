import { constant, defineProtocol, method } from 'pith';
import type { RankedSkill } from 'pith/skill_registry';

/** A request, and what its words find. */
export interface RerankRequest {
  readonly query: string;
  /** Best first. */
  readonly found: readonly RankedSkill[];
}

export interface RerankOptions {
  readonly k: number;
  /** The ids that may be in the answer; absent: all. */
  readonly among?: readonly string[];
  /** Whether weak matches fill the answer up. */
  readonly weak?: boolean;
  /** The asker waits until all skills are known. Absent: what is known now must do. */
  readonly complete?: boolean;
}

/** Puts what words find into a better order by something else than words, and adds what they do not find. */
export interface RerankerProvider {
  /** Names what the order depends on, such as a model. null: nothing is set up, and it is not asked. */
  readonly rerankModel: string | null;
  /** Whether it is used although it makes the order of the skills' examples worse. */
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
