import { constant, defineProtocol, method } from 'pith';
import type { RankedSkill } from 'pith/skill_registry';

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
