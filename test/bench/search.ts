/**
 * `npm run bench:search [-- --save]`: how well and how fast skills are found. Reads ../shared/retrieval; skips visibly where it
 * is missing. `--save` replaces the section in docs/benchmarks.md.
 */
import { catalogTokens, type CatalogTokens } from './search-catalog.ts';
import { givenNeeds, missingData, ownNeeds, poolOf, realSkills, type Pool } from './search-data.ts';
import { askNeeds, percent, RATINGS_HEADING, ratingsOf, withInterval, type Found } from './search-needs.ts';
import { fullText, pith, rankerOf, substring, type Searcher } from './search-rankers.ts';
import { figuresTable, machine, markdownOf, writePage, type Figure } from './search-report.ts';
import { mean, quantile } from './search-statistics.ts';

/** Bounds of the figures that have some. */
const EXPOSURE: Readonly<Record<string, readonly [must: number, aim: number]>> = { '100': [99, 100], '1000': [95, 97] };
const GAIN = { user: [61, 65], keywords: [79, 82] } as const;

const words = process.argv.slice(2);
const missing = missingData();
if (words.some((word) => word !== '--save')) console.log('npm run bench:search [-- --save]');
else if (missing !== null) console.log(`bench:search: skipped, ${missing} is missing`);
else run();

interface Measurements {
  readonly found: readonly Found[];
  readonly catalog: CatalogTokens;
}

function run(): void {
  const measurements = measure();
  const figures = figuresTable(figuresOf(measurements));
  const ratings = { heading: RATINGS_HEADING, rows: measurements.found.flatMap(ratingsOf) };
  const page = [machine(), ...[figures, ratings].map(markdownOf)].join('\n\n');
  console.log(page);
  if (words.includes('--save')) writePage(page);
}

function measure(): Measurements {
  const skills = realSkills();
  const needs = givenNeeds();
  const [few, all] = [poolOf(skills, needs, 100), poolOf(skills, needs, 1000)];
  const asked = [
    { pool: few, needs },
    { pool: all, needs },
    { pool: { ...all, label: '1000, our needs' }, needs: ownNeeds(skills) },
  ];
  const found = asked.flatMap(({ pool, needs: wanted }) =>
    searchers(pool).map((searcher) => {
      const one = askNeeds(searcher, pool, wanted);
      searcher.close?.();
      return one;
    }),
  );
  const texts = needs.map(({ user }) => user);
  return { found, catalog: catalogTokens(all.documents, rankerOf(all.documents), texts) };
}

function searchers({ documents }: Pool): readonly Searcher[] {
  return [pith(rankerOf(documents)), substring(documents), fullText(documents)];
}

function figuresOf({ found, catalog }: Measurements): readonly Figure[] {
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
  const [own, other, text] = ['Pith', 'substring', 'FTS5'].map((searcher) => slow(of('1000', searcher)));
  const time = {
    figure: 'p95 of a query, 1000 skills',
    value: own!,
    shown: `${own!.toFixed(2)} ms`,
    better: 'less',
    must: 2,
    aim: 0.5,
    beside: [`${other!.toFixed(2)} ms`, `${text!.toFixed(2)} ms`],
  } as const;
  const shown = `${catalog.system}, and ${catalog.turn} beside a message (${catalog.all.toLocaleString('en')} for a line each)`;
  const tokens = {
    figure: 'catalog tokens, 1000 skills',
    value: catalog.system,
    shown,
    better: 'less',
    must: 2000,
    aim: 1500,
  } as const;
  return [...exposures, ...gains, time, tokens];
}

function slow({ times }: Found): number {
  return quantile([...times.user, ...times.keywords], 0.95);
}
