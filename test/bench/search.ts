/** `npm run bench:search`: how well and how fast skills are found. Reads ../shared/retrieval; skips visibly where it is missing. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { createRanker } from '../../sandbox/extensions/skill_registry/search/bm25f.ts';
import type { SearchDocument, SkillRanker } from '../../sandbox/extensions/skill_registry/search/ranker.ts';

interface Pooled { id: string; name: string; description: string; tags: string[]; body: string }
interface Need { qid: string; gold: string; user: string; keywords: string; also_right: string[] }
interface Tool { id: string; description: string }
interface ToolQuery { query: string; tool: string }

const data = path.resolve(process.env.PITH_REPOSITORY ?? '.', '../shared/retrieval');
const bootstraps = 2000;

if (existsSync(path.join(data, 'pool-1000.jsonl'))) run();
else console.log(`bench:search: skipped, ${data} is missing`);

function run(): void {
  const pool = shuffled(read<Pooled>('pool-1000.jsonl'), 7);
  const needs = read<Need>('needs.jsonl');
  console.log('pool  wording    n   R@1   R@3   R@5  R@10   MRR  nDCG@10 (95 %)      p50 ms  p95 ms');
  for (const size of [100, 1000, 10_000]) {
    const chosen = poolOf(pool, needs, size);
    const started = performance.now();
    const ranker = rankerOf(chosen.map(documentOf));
    const built = performance.now() - started;
    const [user, keywords] = (['user', 'keywords'] as const).map((wording) => needsRow(ranker, needs, wording, size));
    const exposed = needs.map((_, at) => (within(user![at]!, 12) || within(keywords![at]!, 10) ? 1 : 0));
    console.log(`${String(size).padStart(5)}  exposure ${percent(exposed)}, built in ${built.toFixed(0)} ms`);
  }
  metatool();
}

function needsRow(ranker: SkillRanker, needs: readonly Need[], wording: 'user' | 'keywords', size: number): readonly number[] {
  for (const need of needs) ranker.rank(need[wording], { k: 20 });
  const ranks: number[] = [];
  const times: number[] = [];
  for (const need of needs) {
    const also = new Set(need.also_right);
    const answer = ranker.rank(need[wording], { k: 60, weak: wording === 'user' });
    const others = answer.filter(({ id }) => !also.has(id)).map(({ id }) => id);
    ranks.push(others.indexOf(need.gold) + 1);
    if (process.argv.includes('--each')) console.log(need.qid, wording, ranks.at(-1), answer.slice(0, 3).map(({ id }) => id.split('/').at(-1)).join(' '));
    for (let again = 0; again < 20; again++) {
      const from = performance.now();
      ranker.rank(need[wording], { k: 12 });
      times.push(performance.now() - from);
    }
  }
  const gains = ranks.map((rank) => (rank > 0 && rank <= 10 ? 1 / Math.log2(rank + 1) : 0));
  const [low, high] = interval(gains);
  console.log(
    [
      String(size).padStart(5), ` ${wording.padEnd(8)}`, String(ranks.length).padStart(3),
      ...[1, 3, 5, 10].map((k) => percent(ranks.map((rank) => (rank > 0 && rank <= k ? 1 : 0)))),
      percent(ranks.map((rank) => (rank > 0 ? 1 / rank : 0))),
      `${percent(gains)} (${(low * 100).toFixed(0)}–${(high * 100).toFixed(0)})`.padEnd(16),
      quantile(times, 0.5).toFixed(3).padStart(8), quantile(times, 0.95).toFixed(3).padStart(7),
    ].join(' '),
  );
  return ranks;
}

function within(rank: number, k: number): boolean {
  return rank > 0 && rank <= k;
}

/** R@5 with 0, 5 and 20 examples per tool; queries that served as examples are not asked. */
function metatool(): void {
  const tools = read<Tool>('metatool-tools.jsonl');
  const queries = shuffled(read<ToolQuery>('metatool-queries.jsonl'), 11);
  for (const count of [0, 5, 20]) {
    const examples = new Map<string, string[]>();
    const asked: ToolQuery[] = [];
    for (const query of queries) {
      const kept = examples.get(query.tool) ?? [];
      if (kept.length < count) examples.set(query.tool, [...kept, query.query]);
      else asked.push(query);
    }
    const ranker = rankerOf(
      tools.map(({ id, description }) => ({ id, name: id, description, tags: [], examples: examples.get(id) ?? [], headings: '', body: '' })),
    );
    const hits = asked.map(({ query, tool }) => (ranker.rank(query, { k: 5 }).some(({ id }) => id === tool) ? 1 : 0));
    const [low, high] = interval(hits);
    console.log(`MetaTool, ${String(count).padStart(2)} examples a tool: R@5 ${percent(hits)} (${(low * 100).toFixed(1)}–${(high * 100).toFixed(1)}), ${hits.length} queries`);
  }
}

/** The needs' skills and others up to `size`; beyond the pool, made-up ones of words as frequent as in its texts. */
function poolOf(pool: readonly Pooled[], needs: readonly Need[], size: number): readonly Pooled[] {
  const wanted = new Set(needs.flatMap((need) => [need.gold, ...(size > 100 ? need.also_right : [])]));
  const kept = [...pool.filter(({ id }) => wanted.has(id)), ...pool.filter(({ id }) => !wanted.has(id))].slice(0, size);
  const others = pool.filter(({ id }) => !wanted.has(id));
  const random = generator(3);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const descriptions = others.flatMap(({ description }) => description.split(/\s+/));
  const bodies = others.flatMap(({ body }) => body.split(/\s+/));
  const names = others.flatMap(({ name }) => name.split('-'));
  const words = (from: readonly string[], count: number): string => Array.from({ length: count }, () => pick(from)).join(' ');
  while (kept.length < size) {
    const name = `${pick(names)}-${pick(names)}`;
    kept.push({ id: `generated/${kept.length}/${name}`, name, description: words(descriptions, 30), tags: [], body: words(bodies, 500) });
  }
  return shuffled(kept, 5);
}

function documentOf({ id, name, description, tags, body }: Pooled): SearchDocument {
  // the pool's ids are paths: what a skill has is its folder's name, kept apart from others of the same name by a number
  return { id, name, description, tags, examples: [], headings: '', body };
}

function rankerOf(documents: readonly SearchDocument[]): SkillRanker {
  const ranker = createRanker();
  for (const document of documents) ranker.upsert(document);
  return ranker;
}

function read<T>(file: string): T[] {
  return readFileSync(path.join(data, file), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as T);
}

function interval(values: readonly number[]): [number, number] {
  const random = generator(1);
  const means = Array.from({ length: bootstraps }, () => mean(values.map(() => values[Math.floor(random() * values.length)]!)));
  return [quantile(means, 0.025), quantile(means, 0.975)];
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = generator(seed);
  return items.map((item) => ({ item, key: random() })).sort((a, b) => a.key - b.key).map(({ item }) => item);
}

/** Mulberry32: the same numbers on every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function quantile(values: readonly number[], at: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * at)] ?? 0;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function percent(values: readonly number[]): string {
  return (mean(values) * 100).toFixed(1).padStart(5);
}
