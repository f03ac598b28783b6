/**
 * `npm run bench:search [-- --save]`: how well and how fast skills are found. Reads ../shared/retrieval; skips visibly where it
 * is missing. `--save` replaces the table in docs/benchmarks.md.
 */
import { catalogTokens, type CatalogTokens } from './search-catalog.ts';
import { givenNeeds, missingData, poolOf, realSkills } from './search-data.ts';
import { askTools, toolQuestions } from './search-metatool.ts';
import { askNeeds, percent, RATINGS_HEADING, ratingsOf, withInterval, type Found } from './search-needs.ts';
import { fullText, pith, rankerOf, substring } from './search-rankers.ts';
import { liveBytes } from './measure.ts';
import { figuresTable, machine, markdownOf, writePage, type Figure } from './search-report.ts';
import { mean, quantile } from './search-statistics.ts';

/** Bounds of the figures that have some. */
const EXPOSURE: Readonly<Record<string, readonly [must: number, aim: number]>> = {
  '100': [99, 100],
  '1000': [95, 97],
  '10000 transplanted': [86, 90],
  '10000 invented': [86, 90],
};
const GAIN = { user: [61, 65], keywords: [79, 82] } as const;
const TOOLS: Readonly<Record<number, readonly [must: number, aim: number]>> = { 0: [63, 66], 5: [77, 80], 20: [86, 90] };
const TIME: Readonly<Record<string, readonly [must: number, aim: number]>> = { '1000': [2, 0.5], '10000 transplanted': [6, 2] };

const missing = missingData();
if (missing !== null) console.log(`bench:search: skipped, ${missing} is missing`);
else await run();

interface Measurements {
  readonly found: readonly Found[];
  readonly scale: readonly (readonly string[])[];
  readonly tools: ReadonlyMap<number, ReadonlyMap<string, readonly number[]>>;
  readonly catalog: CatalogTokens;
}

async function run(): Promise<void> {
  const measurements = await measure();
  const figures = figuresTable(figuresOf(measurements));
  const ratings = { heading: RATINGS_HEADING, rows: measurements.found.flatMap(ratingsOf) };
  const scale = { heading: ['skills', 'built in', 'memory'], rows: measurements.scale };
  const page = [machine(), ...[figures, ratings, scale].map(markdownOf)].join('\n\n');
  console.log(page);
  if (process.argv.includes('--save')) writePage(page);
}

async function measure(): Promise<Measurements> {
  const skills = realSkills();
  const needs = givenNeeds();
  const found: Found[] = [];
  const scale: (readonly string[])[] = [];
  let catalog: CatalogTokens | null = null;
  const pools = [100, 1000, 10_000].map((size) => () => poolOf(skills, needs, size));
  for (const make of [...pools, () => poolOf(skills, needs, 10_000, 'invented')]) {
    const pool = make();
    const before = liveBytes();
    const started = performance.now();
    const ranker = rankerOf(pool.documents);
    ranker.rank('prepare', { k: 1 });
    const took = performance.now() - started;
    scale.push([pool.label, `${took.toFixed(0)} ms`, `${((liveBytes() - before) / 2 ** 20).toFixed(1)} MB`]);
    for (const searcher of [pith(ranker), substring(pool.documents), fullText(pool.documents)]) {
      found.push(await askNeeds(searcher, pool, needs));
      searcher.close?.();
    }
    const texts = needs.map(({ user }) => user);
    if (pool.documents.length === 10_000) catalog ??= catalogTokens(pool.documents, ranker, texts);
  }
  const tools = new Map<number, ReadonlyMap<string, readonly number[]>>();
  for (const examples of [0, 5, 20]) tools.set(examples, await askTools(toolQuestions(examples)));
  return { found, scale, tools, catalog: catalog! };
}

function figuresOf({ found, tools, catalog }: Measurements): readonly Figure[] {
  const of = (pool: string, searcher: string) => found.find((one) => one.pool === pool && one.searcher === searcher)!;
  const rating = (figure: string, values: readonly number[], [must, aim]: readonly [number, number], beside: (string | undefined)[]) =>
    ({ figure, value: mean(values) * 100, shown: withInterval(values), better: 'more', must, aim, beside }) as const;
  const exposures = Object.entries(EXPOSURE).map(([pool, bounds]) => {
    const [own, other, text] = ['Pith', 'substring', 'FTS5'].map((searcher) => of(pool, searcher));
    const beside = [percent(other!.exposed), percent(text!.exposed), percent(own!.shown)];
    return rating(`exposure, ${pool} skills`, own!.exposed, bounds, beside);
  });
  const gains = (['user', 'keywords'] as const).map((wording) => {
    const [own, other, text] = ['Pith', 'substring', 'FTS5'].map((searcher) => of('1000', searcher).gains[wording]);
    return rating(`nDCG@10, 1000 skills, ${wording}`, own!, GAIN[wording], [percent(other!), percent(text!)]);
  });
  const hits = [...tools].map(([examples, by]) => {
    const beside = [percent(by.get('substring')!), percent(by.get('FTS5')!)];
    return rating(`MetaTool R@5, ${examples} examples a tool`, by.get('Pith')!, TOOLS[examples]!, beside);
  });
  const times = Object.entries(TIME).map(([pool, [must, aim]]) => {
    const [own, other, text] = ['Pith', 'substring', 'FTS5'].map((searcher) => slow(of(pool, searcher)));
    const beside = [`${other!.toFixed(2)} ms`, `${text!.toFixed(2)} ms`];
    return {
      figure: `p95 of a query, ${pool} skills`,
      value: own!,
      shown: `${own!.toFixed(2)} ms`,
      better: 'less',
      must,
      aim,
      beside,
    } as const;
  });
  const shown = `${catalog.system}, and ${catalog.turn} beside a message (${catalog.all.toLocaleString('en')} for a line each)`;
  const told = {
    figure: 'catalog tokens, 10000 skills',
    value: catalog.system,
    shown,
    better: 'less',
    must: 2000,
    aim: 1500,
  } as const;
  const used = {
    figure: `catalog tokens, ${catalog.used.map(([count]) => count).join(', ')} skills`,
    value: Math.max(...catalog.used.map(([, tokens]) => tokens)),
    shown: catalog.used.map(([, tokens]) => tokens).join(', '),
    better: 'less',
    must: 2000,
  } as const;
  return [...exposures, ...gains, ...hits, ...times, told, used];
}

function slow({ times }: Found): number {
  return quantile([...times.user, ...times.keywords], 0.95);
}
