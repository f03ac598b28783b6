import type { EvalCase } from './eval-case.ts';

/** What a ranker made of one case. */
export interface Outcome {
  readonly case: EvalCase;
  /** Of the skill, from 1; null where it is not among those that were asked for. */
  readonly rank: number | null;
  /** Ids before it, or the first few where it was not found. */
  readonly before: readonly string[];
}

/** Over the cases that should load; each has one right skill. */
export interface Figures {
  readonly cases: number;
  readonly recallAt1: number;
  readonly recallAt5: number;
  readonly recallAt12: number;
  readonly ndcgAt10: number;
  readonly mrr: number;
}

export function figuresOf(outcomes: readonly Outcome[]): Figures {
  const ranks = outcomes.filter((outcome) => outcome.case.should === 'load').map(({ rank }) => rank ?? Infinity);
  const mean = (value: (rank: number) => number): number =>
    ranks.length === 0 ? 0 : ranks.reduce((sum, rank) => sum + value(rank), 0) / ranks.length;
  const within = (k: number) => mean((rank) => (rank <= k ? 1 : 0));
  return {
    cases: ranks.length,
    recallAt1: within(1),
    recallAt5: within(5),
    recallAt12: within(12),
    ndcgAt10: mean((rank) => (rank <= 10 ? 1 / Math.log2(rank + 1) : 0)),
    mrr: mean((rank) => 1 / rank),
  };
}
