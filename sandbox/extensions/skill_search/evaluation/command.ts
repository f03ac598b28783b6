import { type Command, type CommandIO, type ExtensionContext, type JsonValue, messageOf, PithError, type Remote } from 'pith';
import { type RankerDocument, RankerProvider, type SkillLibrary, type SkillRecord } from 'pith/skill_registry';
import { printableLine } from '@pith/plain-text';
import { countOption, renderTable, textColumns, widthOf } from '@pith/command-line';
import { clean } from '@pith/skill-files';
import type { WordVectors } from '@pith/word-ranker';
import { digestOf, type WrittenExamples } from '../enriching/written-examples.ts';
import type { LearnedExamples } from '../learning/learned-examples.ts';
import type { Reranking } from '../reranking.ts';
import { isOffered, offeredSkills } from '../commands.ts';
import {
  casesOf,
  DEPTH,
  distinct,
  type EvalCase,
  type Figures,
  figuresOf,
  isIn,
  LeaveOneOutRanker,
  type Outcome,
  outcomesOf,
  positive,
} from './evaluate.ts';
import { documentsOf, ENOUGH_CASES, rankByProvider, rankByReranker } from './measure.ts';

const LEXICAL = 'lexical';
const FUSED = 'fused';
/** How many skills come with a message where not all fit into the prompt. */
const SHOWN_BESIDE = 12;

export interface EvalPorts {
  readonly library: Remote<SkillLibrary>;
  /** null where learning is off. */
  readonly learned: LearnedExamples | null;
  readonly written: WrittenExamples;
  readonly reranking: Reranking;
  vectors(): Promise<WordVectors | null>;
}

/** `pith skills eval`: what people say, against the ranker. Sends nothing anywhere unless `--ranker` asks for it. */
export function evaluate({ find }: Pick<ExtensionContext, 'find'>, { library, learned, written, reranking, vectors }: EvalPorts): Command {
  return {
    path: 'skills eval',
    description: "Score the search of skills against each skill's examples",
    arguments: [{ name: 'ids', description: 'ids, display names or source/id; without one, all', variadic: true }],
    options: [
      { name: 'all', type: 'boolean', description: 'every skill, as without ids' },
      { name: 'ranker', type: 'string', description: `${LEXICAL} (default), ${FUSED} (asks the embedding model), or an extension's id` },
      { name: 'limit', short: 'k', type: 'number', default: SHOWN_BESIDE, description: 'up to which rank a skill counts as found' },
    ],
    async run(input, io, signal) {
      const k = countOption(input, 'limit', SHOWN_BESIDE);
      const asked = await offeredSkills(input, library);
      const { skills } = await library.records();
      const named = typeof input.options['ranker'] === 'string' ? input.options['ranker'] : LEXICAL;
      await learned?.look();
      const learnedOf = (id: string) => learned?.of(id) ?? [];
      const { cases: all, tasks, problems } = await collect(asked, library, learnedOf);
      const offered = skills.filter(isOffered).map(({ id }) => id);
      await written.look();
      const extras = (document: RankerDocument) => [...learnedOf(document.id), ...written.of(digestOf(document))];
      const documents = await documentsOf(offered, library, signal, extras);
      const knowsThem = named !== LEXICAL && named !== FUSED;
      const cases = knowsThem ? all.filter((one) => !isIn(documents.get(one.skillId), one)) : all;
      const leftOut = all.length - cases.length;
      const lexical = new LeaveOneOutRanker(documents, await vectors());
      await lexical.prepare(signal);
      const reports = [reportOf(LEXICAL, await outcomesOf(cases, (one) => lexical.rank(one), signal), k)];
      if (named === FUSED) {
        const reranker = await reranking.current();
        if (reranker === null)
          throw new PithError('not_found', 'no embedding model is set up', { cure: 'set extensions.embedding.model in pith.yaml' });
        reports.push(reportOf(named, await outcomesOf(cases, await rankByReranker(cases, lexical, reranker, { signal }), signal), k));
        await reranking.examined(reranker);
      } else if (named !== LEXICAL) {
        const ranker = find(RankerProvider).find(({ extensionId }) => extensionId === named);
        if (ranker === undefined) throw unknownRanker(named, find(RankerProvider));
        const given = await Promise.all(offered.map((id) => library.document(id)));
        reports.push(reportOf(named, await outcomesOf(cases, await rankByProvider(ranker, given, signal), signal), k));
      }
      const refused = named === FUSED ? refusal(reports[0]!.figures, reports.at(-1)!.figures) : null;
      io.json({ k, tasks, leftOut, problems: [...problems], refused, rankers: reports.map(jsonOf) });
      print(io, reports, { k, tasks, leftOut, problems, refused });
      const failed = reports.at(-1)!.failed.some((outcome) => outcome.case.from === 'evals');
      return problems.length > 0 || refused !== null || failed ? 1 : 0;
    },
  };
}

function unknownRanker(named: string, rankers: readonly Remote<RankerProvider>[]): PithError {
  const names = [LEXICAL, FUSED, ...rankers.map(({ extensionId }) => extensionId)].join(', ');
  return new PithError('not_found', `there is no ranker '${printableLine(String(named))}'`, { cure: `use one of ${names}` });
}

interface Report {
  readonly name: string;
  readonly figures: Figures;
  /** Cases that should not load, and how many of them do not. */
  readonly notLoad: readonly [passed: number, cases: number];
  readonly failed: readonly Outcome[];
}

async function collect(skills: readonly SkillRecord[], library: Remote<SkillLibrary>, learned: (id: string) => readonly string[]) {
  const { readEvals } = await import('./evals-file.ts');
  const cases: EvalCase[] = [];
  const problems: string[] = [];
  let tasks = 0;
  for (const skill of skills) {
    cases.push(...casesOf(skill), ...positive(skill.id, 'learned', learned(skill.id)));
    try {
      const evals = await readEvals(skill, library);
      cases.push(...(evals?.cases ?? []));
      tasks += evals?.tasks ?? 0;
    } catch (error) {
      problems.push(`${error instanceof PithError && error.where !== undefined ? `${error.where}: ` : ''}${messageOf(error)}`);
    }
  }
  return { cases: distinct(cases), tasks, problems };
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
  /** Cases that another extension's ranker knows as examples. */
  readonly leftOut: number;
  readonly problems: readonly string[];
  readonly refused: string | null;
}

function print(io: CommandIO, reports: readonly Report[], { k, tasks, leftOut, problems, refused }: Rest): void {
  const [{ figures: first, notLoad }] = reports as readonly [Report, ...Report[]];
  for (const problem of problems) io.error(clean(problem));
  if (leftOut > 0)
    io.print(`${leftOut} ${leftOut === 1 ? 'text is' : 'texts are'} left out: the ranker knows them. It is measured by evals/evals.yaml.`);
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
    const titles = ['RANKER', 'CASES', 'R@1', 'R@5', 'R@12', 'nDCG@10', 'MRR', 'NOT LOADED'];
    io.print(renderTable(rows, textColumns(titles), widthOf(io)));
    for (const outcome of reports.at(-1)!.failed) io.print(clean(failure(outcome, k)));
    if (first.cases < ENOUGH_CASES) io.print(`${first.cases} cases say little; ${ENOUGH_CASES} and more say something.`);
  }
  if (tasks > 0) io.print(`${tasks} ${tasks === 1 ? 'task was' : 'tasks were'} not run: this version runs triggers only.`);
  if (refused !== null) io.print(clean(refused));
}

function failure({ case: { skillId, text, should, from }, rank, before }: Outcome, k: number): string {
  if (should === 'not_load') return `${skillId} is first for '${text}' (${from}), and should not be`;
  const place = rank === null ? `is not among the first ${DEPTH}` : `is ${rank}, beyond ${k},`;
  return `${skillId} ${place} for '${text}' (${from}); before it: ${before.length === 0 ? 'nothing' : before.join(', ')}`;
}
