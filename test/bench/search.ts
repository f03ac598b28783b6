/**
 * `npm run bench:search [-- --save]`: how well and how fast skills are found. Reads ../shared/retrieval; skips visibly where it
 * is missing. `--save` replaces the table in docs/benchmarks.md.
 */
import { catalogTokens, type CatalogTokens } from './search-catalog.ts';
import { givenNeeds, heldNeeds, missingData, type Need, poolOf, realSkills, tunedNeeds } from './search-data.ts';
import { askTools, toolQuestions } from './search-metatool.ts';
import { askNeeds, percent, RATINGS_HEADING, ratingsOf, withInterval, type Found } from './search-needs.ts';
import { fullText, pith, PITH, rankerOf, substring, WORDS_ALONE } from './search-rankers.ts';
import { liveBytes } from './measure.ts';
import { figuresTable, machine, markdownOf, writePage, type Figure } from './search-report.ts';
import { spoken } from './search-small-talk.ts';
import { interval, mean, quantile } from './search-statistics.ts';

type Bounds = readonly [must: number, aim: number];

/** Bounds of the figures that have some. */
const EXPOSURE: Readonly<Record<string, Bounds>> = { '100': [99, 100], '1000': [95, 98], '10000 transplanted': [90, 94] };
const GAIN = { user: [57, 65], keywords: [83, 86] } as const;
const TOOLS: Readonly<Record<number, Bounds>> = { 0: [68, 72], 5: [79, 82], 20: [87, 90] };
const TIME: Readonly<Record<string, Bounds>> = { '1000': [2, 0.5], '10000 transplanted': [6, 2] };
/** Of thirty. */
const TALK: Bounds = [6, 2];
const NEEDS_KEPT: Bounds = [97, 100];

/** Needs, by who wrote them and what they were used for. */
const SETS: readonly { readonly set: string; readonly needs: () => readonly Need[] }[] = [
  { set: 'given', needs: givenNeeds },
  { set: 'own, tuned on', needs: tunedNeeds },
  { set: 'own, untouched', needs: heldNeeds },
];
const SIZES = [
  { size: 100, label: '100' },
  { size: 1000, label: '1000' },
  { size: 10_000, label: '10000 transplanted' },
];

const missing = missingData();
if (missing !== null) console.log(`bench:search: skipped, ${missing} is missing`);
else await run();

interface Asked {
  readonly set: string;
  readonly pool: string;
  /** By searcher. */
  readonly found: ReadonlyMap<string, Found>;
  readonly spoken: ReturnType<typeof spoken>;
  readonly needs: number;
}

interface Measurements {
  readonly asked: readonly Asked[];
  readonly scale: readonly (readonly string[])[];
  readonly tools: ReadonlyMap<number, ReadonlyMap<string, readonly number[]>>;
  readonly catalog: CatalogTokens;
}

async function run(): Promise<void> {
  const measurements = await measure();
  const figures = figuresTable(figuresOf(measurements));
  const rows = measurements.asked.flatMap(({ set, found }) => [...found.values()].flatMap(ratingsOf).map((row) => [set, ...row]));
  const ratings = { heading: ['needs', ...RATINGS_HEADING], rows };
  const scale = { heading: ['skills', 'built in', 'memory'], rows: measurements.scale };
  const page = [machine(), ...[figures, ratings, scale].map(markdownOf)].join('\n\n');
  console.log(page);
  if (process.argv.includes('--save')) writePage(page);
}

async function measure(): Promise<Measurements> {
  const skills = realSkills();
  const asked: Asked[] = [];
  const scale: (readonly string[])[] = [];
  let catalog: CatalogTokens | null = null;
  for (const { set, needs: needsOf } of SETS) {
    const needs = needsOf();
    for (const { size } of SIZES) {
      const pool = poolOf(skills, needs, size);
      const before = liveBytes();
      const started = performance.now();
      const ranker = rankerOf(pool.documents);
      ranker.rank('prepare', { k: 1 });
      const took = performance.now() - started;
      if (set === SETS[0]!.set) scale.push([pool.label, `${took.toFixed(0)} ms`, `${((liveBytes() - before) / 2 ** 20).toFixed(1)} MB`]);
      const found = new Map<string, Found>();
      const words = pith(rankerOf(pool.documents, false), WORDS_ALONE);
      for (const searcher of [pith(ranker), words, substring(pool.documents), fullText(pool.documents)]) {
        found.set(searcher.name, await askNeeds(searcher, pool, needs));
        searcher.close?.();
      }
      asked.push({ set, pool: pool.label, found, spoken: spoken(ranker, needs), needs: needs.length });
      const texts = needs.map(({ user }) => user);
      if (size === 10_000) catalog ??= catalogTokens(pool.documents, ranker, texts);
    }
  }
  const tools = new Map<number, ReadonlyMap<string, readonly number[]>>();
  for (const examples of [0, 5, 20]) tools.set(examples, await askTools(toolQuestions(examples)));
  return { asked, scale, tools, catalog: catalog! };
}

function figuresOf({ asked, tools, catalog }: Measurements): readonly Figure[] {
  const rating = (figure: string, values: readonly number[], [must, aim]: Bounds, beside: readonly (string | undefined)[]) =>
    ({ figure, value: mean(values) * 100, shown: withInterval(values), better: 'more', must, aim, beside }) as const;
  const exposures = asked.map(({ set, pool, found }) => {
    const [own, words, other, text] = searchersOf(found);
    const beside = [percent(other.exposed), percent(text.exposed), gain(own.exposed, words.exposed), percent(own.shown)];
    return rating(`exposure, ${pool} skills, ${set}`, own.exposed, EXPOSURE[pool]!, beside);
  });
  const thousand = asked.filter(({ pool }) => pool === '1000');
  const gains = (['user', 'keywords'] as const).flatMap((wording) =>
    thousand.map(({ set, found }) => {
      const [own, words, other, text] = searchersOf(found).map(({ gains: by }) => by[wording]) as unknown as Four<readonly number[]>;
      return rating(`nDCG@10, 1000 skills, ${wording}, ${set}`, own, GAIN[wording], [percent(other), percent(text), gain(own, words)]);
    }),
  );
  const silence = asked
    .filter(({ set }) => set === SETS.at(-1)!.set)
    .flatMap(({ pool, spoken: { tuned, untouched, needs }, needs: count }) => [
      talkFigure(`everyday messages of 30 with a suggestion, ${pool} skills, tuned on`, tuned),
      talkFigure(`everyday messages of 30 with a suggestion, ${pool} skills, untouched`, untouched),
      rating(
        `needs with a suggestion, ${pool} skills, untouched`,
        Array.from({ length: count }, (_, at) => (at < needs ? 1 : 0)),
        NEEDS_KEPT,
        [],
      ),
    ]);
  const hits = [...tools].map(([examples, by]) => {
    const own = by.get(PITH)!;
    const beside = [percent(by.get('substring')!), percent(by.get('FTS5')!), gain(own, by.get(WORDS_ALONE)!)];
    return rating(`MetaTool R@5, ${examples} examples a tool`, own, TOOLS[examples]!, beside);
  });
  const given = asked.filter(({ set, pool }) => set === SETS[0]!.set && pool in TIME);
  const times = given.map(({ pool, found }) => {
    const [own, words, other, text] = searchersOf(found).map(slow) as unknown as Four<number>;
    const [must, aim] = TIME[pool]!;
    const beside = [`${other.toFixed(2)} ms`, `${text.toFixed(2)} ms`, `${(own - words).toFixed(2)} ms`];
    return {
      figure: `p95 of a query, ${pool} skills`,
      value: own,
      shown: `${own.toFixed(2)} ms`,
      better: 'less',
      must,
      aim,
      beside,
    } as const;
  });
  const shown = `${catalog.system}, and ${catalog.turn} beside a message (${catalog.all.toLocaleString('en')} for a line each)`;
  const told = { figure: 'catalog tokens, 10000 skills', value: catalog.system, shown, better: 'less', must: 2000, aim: 1500 } as const;
  const used = {
    figure: `catalog tokens, ${catalog.used.map(([count]) => count).join(', ')} skills`,
    value: Math.max(...catalog.used.map(([, tokens]) => tokens)),
    shown: catalog.used.map(([, tokens]) => tokens).join(', '),
    better: 'less',
    must: 2000,
  } as const;
  return [...exposures, ...gains, ...silence, ...hits, ...times, told, used];
}

function talkFigure(figure: string, value: number): Figure {
  return { figure, value, shown: `${value}`, better: 'less', must: TALK[0], aim: TALK[1] };
}

type Four<T> = readonly [own: T, words: T, substring: T, fullText: T];

function searchersOf(found: ReadonlyMap<string, Found>): Four<Found> {
  return [found.get(PITH)!, found.get(WORDS_ALONE)!, found.get('substring')!, found.get('FTS5')!];
}

/** What the table of word vectors adds, by the same requests one by one. */
function gain(own: readonly number[], words: readonly number[]): string {
  const differences = own.map((value, at) => value - words[at]!);
  const signed = (value: number) => `${value < 0 ? '' : '+'}${(value * 100).toFixed(1)}`;
  const [low, high] = interval(differences);
  return `${signed(mean(differences))} (${signed(low)} to ${signed(high)})`;
}

function slow({ times }: Found): number {
  return quantile([...times.user, ...times.keywords], 0.95);
}
