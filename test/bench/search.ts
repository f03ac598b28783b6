/**
 * `npm run bench:search [-- --each] [-- --save]`: how well and how fast skills are found. Reads ../shared/retrieval; skips
 * visibly where it is missing. Figures stand beside those of search-previous.json, which `--save` replaces.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createRanker } from '../../sandbox/extensions/skill_registry/search/bm25f.ts';
import type { SearchDocument, StoredRanker } from '../../sandbox/extensions/skill_registry/search/ranker.ts';
import { padding, type Padding, type PooledSkill } from './search-padding.ts';

interface Need {
  qid: string;
  gold: string;
  user: string;
  keywords: string;
  also_right: string[];
}
interface Tool {
  id: string;
  description: string;
}
interface ToolQuery {
  query: string;
  tool: string;
}
type Wording = 'user' | 'keywords';

const repository = process.env.PITH_REPOSITORY ?? '.';
const data = path.resolve(repository, '../shared/retrieval');
const previousFile = path.resolve(repository, 'test/bench/search-previous.json');
const BOOTSTRAPS = 2000;
/** One value a query, by measure; hits and exposures as a text of 0 and 1. */
const measured: Record<string, number[]> = {};

if (existsSync(path.join(data, 'pool-1000.jsonl'))) run();
else console.log(`bench:search: skipped, ${data} is missing`);

function run(): void {
  const pool = shuffled(read<PooledSkill>('pool-1000.jsonl'), 7);
  const needs = read<Need>('needs.jsonl');
  console.log('pool         wording    n   R@1   R@3   R@5  R@10   MRR  nDCG@10 (95 %)       p50 ms  p95 ms');
  evaluate('100', poolOf(pool, needs, 100), needs);
  evaluate('1000', poolOf(pool, needs, 1000), needs);
  for (const kind of ['transplanted', 'invented'] as const) evaluate(`10000 ${kind.slice(0, 6)}`, poolOf(pool, needs, 10_000, kind), needs);
  metatool();
  compare();
}

function evaluate(label: string, skills: readonly PooledSkill[], needs: readonly Need[]): void {
  const ids = folderNames(skills);
  const documents = skills.map((skill) => documentOf(skill, ids.get(skill.id)!));
  const before = heap();
  const started = performance.now();
  const ranker = rankerOf(documents);
  const built = performance.now() - started;
  ranker.rank('prepare', { k: 1 });
  const memory = heap() - before;
  const [user, keywords] = (['user', 'keywords'] as const).map((wording) => needsRow(label, ranker, needs, wording, ids));
  const exposed = needs.map((_, at) => (within(user![at]!, 12) || within(keywords![at]!, 10) ? 1 : 0));
  measured[`exposure ${label}`] = exposed;
  console.log(
    `${label.padEnd(12)} exposure ${percent(exposed)}, built in ${built.toFixed(0)} ms, ${(memory / 2 ** 20).toFixed(1)} MB; ${stored(ranker)}`,
  );
}

/** What it takes to keep the index from one process to the next, and the longest piece of it that lets nobody else work. */
function stored(ranker: StoredRanker): string {
  let longest = 0;
  const timed = <T>(pieces: Iterable<T>): T[] => {
    const all: T[] = [];
    let from = performance.now();
    for (const piece of pieces) {
      longest = Math.max(longest, performance.now() - from);
      all.push(piece);
      from = performance.now();
    }
    return all;
  };
  const started = performance.now();
  const bytes = Buffer.concat(timed(ranker.dump()).map((piece) => piece!));
  const dumped = performance.now();
  timed(createRanker().restore(bytes));
  const restored = performance.now();
  const [dump, restore] = [dumped - started, restored - dumped].map((ms) => ms.toFixed(0));
  return `file ${(bytes.length / 2 ** 20).toFixed(1)} MB, dumped in ${dump} ms, restored in ${restore} ms, longest piece ${longest.toFixed(1)} ms`;
}

function needsRow(
  label: string,
  ranker: StoredRanker,
  needs: readonly Need[],
  wording: Wording,
  ids: ReadonlyMap<string, string>,
): readonly number[] {
  for (const need of needs) ranker.rank(need[wording], { k: 20 });
  const ranks: number[] = [];
  const times: number[] = [];
  for (const need of needs) {
    const also = new Set(need.also_right.map((id) => ids.get(id)));
    const answer = ranker.rank(need[wording], { k: 60, weak: wording === 'user' });
    const others = answer.filter(({ id }) => !also.has(id)).map(({ id }) => id);
    ranks.push(others.indexOf(ids.get(need.gold)!) + 1);
    if (process.argv.includes('--each'))
      console.log(
        need.qid,
        wording,
        ranks.at(-1),
        answer
          .slice(0, 3)
          .map(({ id }) => id)
          .join(' '),
      );
    for (let again = 0; again < 20; again++) {
      const from = performance.now();
      ranker.rank(need[wording], { k: 12 });
      times.push(performance.now() - from);
    }
  }
  const gains = ranks.map((rank) => (within(rank, 10) ? 1 / Math.log2(rank + 1) : 0));
  measured[`nDCG ${wording} ${label}`] = gains;
  const [low, high] = interval(gains);
  console.log(
    [
      label.padEnd(12),
      wording.padEnd(8),
      String(ranks.length).padStart(3),
      ...[1, 3, 5, 10].map((k) => percent(ranks.map((rank) => (within(rank, k) ? 1 : 0)))),
      percent(ranks.map((rank) => (rank > 0 ? 1 / rank : 0))),
      `${percent(gains)} (${(low * 100).toFixed(0)}–${(high * 100).toFixed(0)})`.padEnd(16),
      quantile(times, 0.5).toFixed(3).padStart(9),
      quantile(times, 0.95).toFixed(3).padStart(7),
    ].join(' '),
  );
  return ranks;
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
      tools.map(({ id, description }) => ({
        ...documentOf({ id, name: id, description, tags: [], body: '' }, id),
        examples: examples.get(id) ?? [],
      })),
    );
    const hits = asked.map(({ query, tool }) => (ranker.rank(query, { k: 5 }).some(({ id }) => id === tool) ? 1 : 0));
    measured[`MetaTool R@5, ${count} examples`] = hits;
    const [low, high] = interval(hits);
    console.log(
      `MetaTool, ${String(count).padStart(2)} examples a tool: R@5 ${percent(hits)} (${(low * 100).toFixed(1)}–${(high * 100).toFixed(1)}), ${hits.length} queries`,
    );
  }
}

/** Paired bootstrap against the figures of the last `--save`: the same queries, resampled together. */
function compare(): void {
  if (existsSync(previousFile)) {
    const previous = JSON.parse(readFileSync(previousFile, 'utf8')) as Record<string, number[] | string>;
    console.log('\nagainst search-previous.json        before   now   difference (95 %)');
    for (const [measure, now] of Object.entries(measured)) {
      const before = unpacked(previous[measure] ?? []);
      if (before.length !== now.length) continue;
      const differences = now.map((value, at) => value - before[at]!);
      const [low, high] = interval(differences);
      console.log(
        `${measure.padEnd(34)} ${percent(before)}  ${percent(now)}   ${percent(differences)} (${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)})`,
      );
    }
  }
  if (!process.argv.includes('--save')) return;
  const lines = Object.entries(measured).map(([measure, values]) => `  ${JSON.stringify(measure)}: ${JSON.stringify(packed(values))}`);
  writeFileSync(previousFile, `{\n${lines.join(',\n')}\n}\n`);
}

function packed(values: readonly number[]): number[] | string {
  return values.every((value) => value === 0 || value === 1) ? values.join('') : values.map((value) => Number(value.toFixed(4)));
}

function unpacked(values: readonly number[] | string): readonly number[] {
  return typeof values === 'string' ? [...values].map(Number) : values;
}

/** The needs' skills and others up to `size`; beyond the pool, made-up ones that take nothing from what a need asks for. */
function poolOf(
  pool: readonly PooledSkill[],
  needs: readonly Need[],
  size: number,
  kind: Padding = 'transplanted',
): readonly PooledSkill[] {
  const wanted = new Set(needs.flatMap((need) => [need.gold, ...(size > 100 ? need.also_right : [])]));
  const others = pool.filter(({ id }) => !wanted.has(id));
  const kept = [...pool.filter(({ id }) => wanted.has(id)), ...others].slice(0, size);
  return shuffled([...kept, ...padding(others, size - kept.length, kind, generator(3))], 5);
}

/** The pool's ids are paths; a skill's id is its folder's name, with a number where several have the same. */
function folderNames(skills: readonly PooledSkill[]): ReadonlyMap<string, string> {
  const used = new Map<string, number>();
  return new Map(
    skills.map(({ id, name }) => {
      const count = (used.get(name) ?? 0) + 1;
      used.set(name, count);
      return [id, count === 1 ? name : `${name}-${count}`];
    }),
  );
}

function documentOf({ name, description, tags, body }: PooledSkill, id: string): SearchDocument {
  return { id, version: '1', name, description, tags, examples: [], headings: '', body };
}

function rankerOf(documents: readonly SearchDocument[]): StoredRanker {
  const ranker = createRanker();
  for (const document of documents) ranker.upsert(document);
  return ranker;
}

function read<T>(file: string): T[] {
  return readFileSync(path.join(data, file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}

/** Bytes in use after a full collection. */
function heap(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function within(rank: number, k: number): boolean {
  return rank > 0 && rank <= k;
}

function interval(values: readonly number[]): [number, number] {
  const random = generator(1);
  const means = Array.from({ length: BOOTSTRAPS }, () => mean(values.map(() => values[Math.floor(random() * values.length)]!)));
  return [quantile(means, 0.025), quantile(means, 0.975)];
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = generator(seed);
  return items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
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
