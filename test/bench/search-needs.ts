import { performance } from 'node:perf_hooks';
import type { Need, Pool } from './search-data.ts';
import { PITH, type Searcher } from './search-rankers.ts';
import { interval, mean, quantile } from './search-statistics.ts';

const WORDINGS = ['user', 'keywords'] as const;
export type Wording = (typeof WORDINGS)[number];

/** How well one searcher found what was needed among one pool; a value a need, in the order of the needs. */
export interface Found {
  readonly searcher: string;
  readonly pool: string;
  readonly ranks: Readonly<Record<Wording, readonly number[]>>;
  readonly gains: Readonly<Record<Wording, readonly number[]>>;
  /** Shown beside the message or listed for the keywords. */
  readonly exposed: readonly number[];
  /** Shown beside the message: all that there is without a tool to search with. */
  readonly shown: readonly number[];
  /** Of each text the median of several runs. */
  readonly times: Readonly<Record<Wording, readonly number[]>>;
}

/** Beside a message. */
export const SHOWN = 12;
const LISTED = 10;
const REPEATS = 20;

export async function askNeeds(searcher: Searcher, pool: Pool, needs: readonly Need[]): Promise<Found> {
  const ranks = { user: [] as number[], keywords: [] as number[] };
  const times = { user: [] as number[], keywords: [] as number[] };
  const repeats = searcher.name === PITH ? REPEATS : 3;
  for (const need of needs) {
    for (const wording of WORDINGS) {
      const also = new Set(need.also_right.map((id) => pool.ids.get(id)));
      const answer = await searcher.find(need[wording], { k: 60 });
      ranks[wording].push(answer.filter((id) => !also.has(id)).indexOf(pool.ids.get(need.gold)!) + 1);
      const taken: number[] = [];
      for (let again = 0; again < repeats; again++) {
        const from = performance.now();
        await searcher.find(need[wording], { k: SHOWN });
        taken.push(performance.now() - from);
      }
      times[wording].push(quantile(taken, 0.5));
    }
  }
  const gainsOf = (wording: Wording) => ranks[wording].map((rank) => (within(rank, 10) ? 1 / Math.log2(rank + 1) : 0));
  const shown = ranks.user.map((rank) => (within(rank, SHOWN) ? 1 : 0));
  return {
    searcher: searcher.name,
    pool: pool.label,
    ranks,
    gains: { user: gainsOf('user'), keywords: gainsOf('keywords') },
    exposed: shown.map((one, at) => (one === 1 || within(ranks.keywords[at]!, LISTED) ? 1 : 0)),
    shown,
    times,
  };
}

export const RATINGS_HEADING = ['skills', 'ranker', 'wording', 'R@1', 'R@3', 'R@5', 'R@10', 'MRR', 'nDCG@10 (95 %)', 'p50 ms', 'p95 ms'];

/** A line for each wording. */
export function ratingsOf({ searcher, pool, ranks, gains, times }: Found): readonly (readonly string[])[] {
  return WORDINGS.map((wording) => [
    pool,
    searcher,
    wording,
    ...[1, 3, 5, 10].map((k) => percent(ranks[wording].map((rank) => (within(rank, k) ? 1 : 0)))),
    percent(ranks[wording].map((rank) => (rank > 0 ? 1 / rank : 0))),
    withInterval(gains[wording]),
    quantile(times[wording], 0.5).toFixed(2),
    quantile(times[wording], 0.95).toFixed(2),
  ]);
}

export function percent(values: readonly number[]): string {
  return (mean(values) * 100).toFixed(1);
}

/** In per cent, with what it is between in 95 of 100 cases. */
export function withInterval(values: readonly number[]): string {
  const [low, high] = interval(values);
  return `${percent(values)} (${(low * 100).toFixed(0)}–${(high * 100).toFixed(0)})`;
}

function within(rank: number, k: number): boolean {
  return rank > 0 && rank <= k;
}
