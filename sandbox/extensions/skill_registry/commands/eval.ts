import { type Command, type CommandInput, type CommandIO, type ExtensionContext, type JsonValue, messageOf, PithError } from 'pith';
import { SHOWN_BESIDE } from '../catalog/turn-part.ts';
import {
  casesOf,
  DEPTH,
  distinct,
  type EvalCase,
  type Figures,
  figuresOf,
  isIn,
  LexicalTrial,
  type Outcome,
  outcomesOf,
  positive,
  type RankCase,
} from '../evaluation/evaluate.ts';
import { ENOUGH_CASES } from '../meaning/verdict.ts';
import type { SkillRegistry } from '../registry.ts';
import { fullDocumentOf, type SearchDocument } from '../search/ranker.ts';
import { learnedOf } from '../search/learned-examples.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { clean } from '../catalog/brief.ts';
import { countOption, table, widthOf } from './rows.ts';
import { wantedSkill } from './wanted.ts';

const LEXICAL = 'lexical';
const FUSED = 'fused';

/** `pith skills eval`: what people say, against the ranker. Nothing is sent anywhere unless `--ranker` asks for it. */
export function evaluate(
  context: Pick<ExtensionContext, 'config' | 'dataDirectory' | 'clock' | 'logger' | 'find'>,
  registry: SkillRegistry,
  search: SkillSearch,
): Command {
  return {
    path: 'skills eval',
    description: 'Say how well the examples of skills find their skill, and which do not',
    arguments: [{ name: 'ids', description: 'ids, display names or source/id; without one, all', variadic: true }],
    options: [
      { name: 'all', type: 'boolean', description: 'every skill, as without ids' },
      { name: 'ranker', type: 'string', description: `${LEXICAL} (default), ${FUSED} (asks the embedding model), or an extension's id` },
      { name: 'limit', short: 'k', type: 'number', default: SHOWN_BESIDE, description: 'how far down a skill counts as found' },
    ],
    async run(input, io, signal) {
      const snapshot = await registry.refreshIfOlderThan(0);
      const asked = await askedOf(input, registry, snapshot);
      const k = countOption(input, 'limit', SHOWN_BESIDE);
      const named = typeof input.options['ranker'] === 'string' ? input.options['ranker'] : LEXICAL;
      const learned = learnedOf(context);
      await learned?.look();
      const { cases: all, tasks, problems } = await collect(asked, (id) => learned?.of(id) ?? []);
      const documents = await documentsOf(registry, snapshot, (id) => learned?.of(id) ?? []);
      const knowsThem = named !== LEXICAL && named !== FUSED;
      const cases = knowsThem ? all.filter((one) => !isIn(documents.get(one.skillId), one)) : all;
      const leftOut = all.length - cases.length;
      const lexical = new LexicalTrial(documents);
      await lexical.prepare(signal);
      const reports = [reportOf(LEXICAL, await outcomesOf(cases, (one) => lexical.rank(one), signal), k)];
      if (named !== LEXICAL) {
        const { backends } = search;
        if (backends === null) throw new PithError('not_found', `there is no ranker '${named}'`);
        const { fusedTrial, otherTrial } = await import('../evaluation/trials.ts');
        const parts = { snapshot, cases, documents, lexical, backends, signal };
        const rank: RankCase = named === FUSED ? await fusedTrial(parts) : await otherTrial(named, context, parts);
        reports.push(reportOf(named, await outcomesOf(cases, rank, signal), k));
      }
      const refused = named === FUSED ? refusal(reports[0]!.figures, reports.at(-1)!.figures) : null;
      const budget = await budgetOf(snapshot);
      io.json({ k, tasks, leftOut, problems: [...problems], refused, catalog: budget, rankers: reports.map(jsonOf) });
      print(io, reports, { k, tasks, leftOut, problems, refused, budget });
      const failed = reports.at(-1)!.failed.some((outcome) => outcome.case.from === 'evals');
      return problems.length > 0 || refused !== null || failed ? 1 : 0;
    },
  };
}

interface Report {
  readonly name: string;
  readonly figures: Figures;
  /** Cases that should not load, and how many of them do not. */
  readonly notLoad: readonly [passed: number, cases: number];
  readonly failed: readonly Outcome[];
}

async function askedOf(
  { arguments: given, options }: CommandInput,
  registry: SkillRegistry,
  snapshot: Snapshot,
): Promise<readonly Skill[]> {
  const ids = [given['ids'] ?? []].flat();
  if (ids.length > 0 && options['all'] === true) throw new PithError('usage', 'ids and --all', { cure: 'name skills, or take all' });
  if (ids.length === 0) return [...snapshot.skills.values()].filter(({ state }) => state === 'offered');
  const skills = await Promise.all(ids.map((id) => wantedSkill(registry, snapshot, id)));
  const hidden = skills.find(({ state }) => state !== 'offered');
  if (hidden === undefined) return skills;
  throw new PithError('skill_not_offered', `skill '${hidden.id}' is ${hidden.state}: nothing finds it`, { where: hidden.file });
}

async function collect(skills: readonly Skill[], learned: (id: string) => readonly string[]) {
  const { readEvals } = await import('../evaluation/evals-file.ts');
  const cases: EvalCase[] = [];
  const problems: string[] = [];
  let tasks = 0;
  for (const skill of skills) {
    cases.push(...casesOf(skill), ...positive(skill.id, 'learned', learned(skill.id)));
    try {
      const evals = await readEvals(skill.id, skill.realDirectory);
      cases.push(...(evals?.cases ?? []));
      tasks += evals?.tasks ?? 0;
    } catch (error) {
      problems.push(`${error instanceof PithError && error.where !== undefined ? `${error.where}: ` : ''}${messageOf(error)}`);
    }
  }
  return { cases: distinct(cases), tasks, problems };
}

async function documentsOf(registry: SkillRegistry, { skills }: Snapshot, learned: (id: string) => readonly string[]) {
  const documents = new Map<string, SearchDocument>();
  for (const skill of skills.values()) {
    if (skill.state !== 'offered') continue;
    documents.set(skill.id, fullDocumentOf(skill, (await registry.studyBody(skill)) ?? '', learned(skill.id)));
  }
  return documents;
}

/** A case that should load passes where the skill is among the first `k`; one that should not, where it is not the first. */
function reportOf(name: string, outcomes: readonly Outcome[], k: number): Report {
  const passes = ({ case: one, rank }: Outcome) => (one.should === 'load' ? rank !== null && rank <= k : rank !== 1);
  const against = outcomes.filter((outcome) => outcome.case.should === 'not_load');
  const failed = outcomes.filter((outcome) => !passes(outcome));
  return { name, figures: figuresOf(outcomes), notLoad: [against.filter(passes).length, against.length], failed };
}

function refusal(lexical: Figures, fused: Figures): string | null {
  if (fused.cases < ENOUGH_CASES || fused.ndcgAt10 >= lexical.ndcgAt10 - 1e-9) return null;
  const [before, after] = [lexical.ndcgAt10.toFixed(3), fused.ndcgAt10.toFixed(3)];
  return `the embedding model lowers nDCG@10 on ${fused.cases} examples from ${before} to ${after}: do not use it`;
}

async function budgetOf({ skills }: Snapshot): Promise<{ readonly tokens: number; readonly complete: boolean }> {
  const { renderCatalog } = await import('../catalog/catalog.ts');
  const { catalogBudget } = await import('../catalog/token-estimate.ts');
  const tokens = catalogBudget(null);
  const offered = [...skills.values()].filter(({ state }) => state === 'offered');
  return { tokens, complete: renderCatalog(offered, { budget: tokens }).complete };
}

function jsonOf({ name, figures, notLoad: [passed, cases], failed }: Report): JsonValue {
  const list = failed.map(({ case: { skillId, text, should, from }, rank, before }) => ({
    id: skillId,
    text,
    should,
    from,
    rank,
    before: [...before],
  }));
  return { name, ...figures, notLoad: { cases, passed }, failed: list };
}

interface Rest {
  readonly k: number;
  readonly tasks: number;
  /** Cases that another extension's ranker was told as examples. */
  readonly leftOut: number;
  readonly problems: readonly string[];
  readonly refused: string | null;
  readonly budget: { readonly tokens: number; readonly complete: boolean };
}

function print(io: CommandIO, reports: readonly Report[], { k, tasks, leftOut, problems, refused, budget }: Rest): void {
  const [{ figures: first, notLoad }] = reports as readonly [Report, ...Report[]];
  for (const problem of problems) io.error(clean(problem));
  if (leftOut > 0)
    io.print(
      `${leftOut} ${leftOut === 1 ? 'text is' : 'texts are'} left out: the ranker was told them. It is measured by evals/evals.yaml.`,
    );
  if (first.cases + notLoad[1] === 0 && leftOut === 0)
    io.print("No skill that was asked for has examples. Add 'examples' to its frontmatter, or evals/evals.yaml.");
  else if (first.cases + notLoad[1] > 0) {
    const percent = (value: number) => (value * 100).toFixed(1);
    const rows = reports.map(({ name, figures, notLoad: [passed, against] }) => [
      name,
      String(figures.cases),
      ...[figures.recallAt1, figures.recallAt5, figures.recallAt12, figures.ndcgAt10, figures.mrr].map(percent),
      against === 0 ? '–' : `${passed}/${against}`,
    ]);
    io.print(table(['RANKER', 'CASES', 'R@1', 'R@5', 'R@12', 'nDCG@10', 'MRR', 'NOT LOADED'], rows, widthOf(io)));
    for (const outcome of reports.at(-1)!.failed) io.print(clean(failure(outcome, k)));
    if (first.cases < ENOUGH_CASES) io.print(`${first.cases} cases say little; ${ENOUGH_CASES} and more say something.`);
    if (budget.complete)
      io.print(`All skills have their line in a catalog of ${budget.tokens} tokens, so a model sees each whatever its rank.`);
  }
  if (tasks > 0) io.print(`${tasks} ${tasks === 1 ? 'task was' : 'tasks were'} not run: this version runs triggers only.`);
  if (refused !== null) io.print(clean(refused));
}

function failure({ case: { skillId, text, should, from }, rank, before }: Outcome, k: number): string {
  if (should === 'not_load') return `${skillId} is first for '${text}' (${from}), and should not be`;
  const place = rank === null ? `is not among the first ${DEPTH}` : `is ${rank}, beyond ${k},`;
  return `${skillId} ${place} for '${text}' (${from}); before it: ${before.length === 0 ? 'nothing' : before.join(', ')}`;
}
