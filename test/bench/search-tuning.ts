import { Bm25fRanker, PARAMETERS, type RankerParameters } from '../../sandbox/extensions/skill_registry/search/bm25f.ts';
import type { SearchDocument } from '../../sandbox/extensions/skill_registry/search/ranker.ts';
import { givenNeeds, named, ownNeeds, poolOf, realSkills, type Need, type Pool } from './search-data.ts';
import { toolQuestions } from './search-metatool.ts';
import { markdownOf } from './search-report.ts';
import { silver } from './search-silver.ts';
import { deviation, mean } from './search-statistics.ts';

/** Questions to one pool, each with the fold that its skill or tool belongs to. */
interface TestSet {
  readonly name: string;
  readonly ranker: Bm25fRanker;
  readonly asked: readonly {
    readonly text: string;
    readonly weak: boolean;
    readonly also: ReadonlySet<string>;
    readonly gold: string;
    readonly fold: number;
  }[];
  gain(rank: number): number;
}

type Variant = Readonly<Partial<RankerParameters>>;

const FOLDS = 5;
const ASKED_OF_TOOLS = 2500;
/** What the rankers of all sets go by at the moment. */
const live: { -readonly [Key in keyof RankerParameters]: RankerParameters[Key] } = { ...PARAMETERS };

/**
 * Judges every variant of the ranker's parameters on several sets in folds, and says what choosing by four folds brings on the
 * fifth: a variant that only fits the questions it was chosen by shows there.
 */
export function tune(): void {
  const sets = testSets();
  const base = scores(sets, {});
  const results = [...variants()].map(([name, variant]) => ({ name, folds: gainsOf(base, scores(sets, variant)) }));
  const heading = ['variant', ...sets.map(({ name }) => name), 'mean over folds', '± over folds', 'folds gained'];
  const now = ['now', ...sets.map((_, at) => (mean(base.map((fold) => fold[at]!)) * 100).toFixed(1)), '', '', ''];
  const rows = results.map(({ name, folds }) => {
    const means = folds.map((fold) => mean(fold));
    const columns = sets.map((_, at) => signed(mean(folds.map((fold) => fold[at]!))));
    return [name, ...columns, signed(mean(means)), (deviation(means) * 100).toFixed(2), String(means.filter((value) => value > 0).length)];
  });
  console.log(markdownOf({ heading, rows: [now, ...rows] }));
  const unseen = Array.from({ length: FOLDS }, (_, left) => {
    const judged = results.map(({ name, folds }) => ({
      name,
      others: mean(folds.filter((_fold, at) => at !== left).map((fold) => mean(fold))),
      here: mean(folds[left]!),
    }));
    const best = judged.reduce((one, other) => (other.others > one.others ? other : one));
    const chosen = best.others > 0 ? best : { name: 'now', here: 0 };
    console.log(`fold ${left + 1}: the others choose '${chosen.name}', which brings ${signed(chosen.here)} here`);
    return chosen.here;
  });
  console.log(`choosing brings ${signed(mean(unseen))} ± ${(deviation(unseen) * 100).toFixed(2)} on what was not looked at`);
}

/** One parameter at a time, within what the specification allows. */
function* variants(): Iterable<readonly [string, Variant]> {
  const { fields, k1, pair } = PARAMETERS;
  const field = (name: string, values: Partial<(typeof fields)[number]>) => ({
    fields: fields.map((one) => (one.name === name ? { ...one, ...values } : one)),
  });
  for (const factor of [0.67, 0.83, 1.2, 1.5]) yield [`k1 ${(k1 * factor).toFixed(1)}`, { k1: k1 * factor }];
  for (const weight of [1.5, 2.5, 3]) yield [`description ${weight}`, field('description', { weight })];
  for (const weight of [0.25, 0.35, 0.5]) yield [`body ${weight}`, field('body', { weight })];
  for (const weight of [1.25, 1.5]) yield [`examples ${weight}`, field('examples', { weight })];
  for (const { name, b } of fields)
    for (const other of [b - 0.2, b + 0.15])
      if (other >= 0 && other <= 1) yield [`b of ${name} ${other.toFixed(2)}`, field(name, { b: other })];
  for (const value of [0, 0.15, 0.4, 0.5]) yield [`synonym ${value}`, { synonym: value }];
  for (const value of [0.4, 0.8]) yield [`misspelt ${value}`, { misspelt: value }];
  for (const factor of [0, 0.5, 1.5, 2])
    yield [`pairs × ${factor}`, { pair: { ...pair, adjacent: pair.adjacent * factor, apart: pair.apart * factor } }];
  yield ['pairs only side by side', { pair: { ...pair, apart: 0 } }];
  yield ['pairs of the body 0', { pair: { ...pair, inBody: 0 } }];
  yield ['pairs of the body 0.2', { pair: { ...pair, inBody: 0.2 } }];
}

function testSets(): readonly TestSet[] {
  const skills = realSkills();
  const [needs, sentences] = [[...givenNeeds(), ...ownNeeds(skills)], silver(skills)];
  return [
    ...needSets('needs 1000', poolOf(skills, needs, 1000), needs),
    ...needSets('needs 10,000', poolOf(skills, needs, 10_000), needs),
    needSets('sentences', named('1000', sentences.skills), sentences.needs)[0]!,
    ...[0, 5, 20].map(toolSet),
  ];
}

function needSets(name: string, pool: Pool, needs: readonly Need[]): readonly TestSet[] {
  const ranker = rankerOf(pool.documents);
  return (['user', 'keywords'] as const).map((wording) => ({
    name: `${name} ${wording}`,
    ranker,
    asked: needs.map((need) => ({
      text: need[wording],
      weak: wording === 'user',
      also: new Set(need.also_right.map((id) => pool.ids.get(id)!)),
      gold: pool.ids.get(need.gold)!,
      fold: foldOf(need.gold),
    })),
    gain: (rank) => (rank > 0 ? 1 / Math.log2(rank + 1) : 0),
  }));
}

function toolSet(examples: number): TestSet {
  const { documents, asked } = toolQuestions(examples);
  return {
    name: `MetaTool ${examples}`,
    ranker: rankerOf(documents),
    asked: asked
      .slice(0, ASKED_OF_TOOLS)
      .map(({ query, tool }) => ({ text: query, weak: false, also: new Set<string>(), gold: tool, fold: foldOf(tool) })),
    gain: (rank) => (rank > 0 && rank <= 5 ? 1 : 0),
  };
}

function rankerOf(documents: readonly SearchDocument[]): Bm25fRanker {
  const ranker = new Bm25fRanker(live);
  for (const document of documents) ranker.upsert(document);
  return ranker;
}

/** Means by fold and set. */
function scores(sets: readonly TestSet[], variant: Variant): readonly (readonly number[])[] {
  Object.assign(live, PARAMETERS, variant);
  const bySet = sets.map(({ ranker, asked, gain }) => {
    ranker.upsert({ id: 'changed', version: '', name: '', description: '', tags: [], examples: [], body: '' }); // it looks at its parameters after a change
    ranker.remove('changed');
    const folds = Array.from({ length: FOLDS }, () => [] as number[]);
    for (const { text, weak, also, gold, fold } of asked) {
      const others = ranker.rank(text, { k: 60, weak }).filter(({ id }) => !also.has(id));
      folds[fold]!.push(gain(others.findIndex(({ id }) => id === gold) + 1));
    }
    return folds.map(mean);
  });
  return Array.from({ length: FOLDS }, (_, fold) => bySet.map((folds) => folds[fold]!));
}

function gainsOf(before: readonly (readonly number[])[], now: readonly (readonly number[])[]): readonly (readonly number[])[] {
  return now.map((fold, at) => fold.map((value, set) => value - before[at]![set]!));
}

/** All questions for one skill or tool are in one fold. */
function foldOf(gold: string): number {
  let hash = 7;
  for (const character of gold) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0;
  return Math.abs(hash) % FOLDS;
}

function signed(value: number): string {
  return `${value >= 0 ? '+' : ''}${(value * 100).toFixed(2)}`;
}
