import type { CommandIO, JsonValue } from 'pith';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import { counted } from '@pith/plain-text';
import { clean } from '@pith/skill-files';
import type { SearchAnswer, SearchFigures, SearchOutcome } from 'pith/skill_search';

/** How many skills come with a message where not all fit into the prompt. */
export const SHOWN_BESIDE = 12;
/** With fewer cases a figure means little. */
const ENOUGH_CASES = 20;

/** One ranker's figures, and what passes where so many skills are looked at. */
export interface Ranking {
  readonly name: string;
  readonly figures: SearchFigures;
  /** Cases that should not load, and how many of them do not. */
  readonly notLoad: readonly [passed: number, cases: number];
  readonly failed: readonly SearchOutcome[];
}

/** A case that should load passes where the skill is among the first `k`; one that should not, where it is not the first. */
export function passes({ case: one, rank }: SearchOutcome, k: number): boolean {
  return one.should === 'load' ? rank !== null && rank <= k : rank !== 1;
}

export function rankingsOf({ reports }: SearchAnswer, k: number): readonly Ranking[] {
  return reports.map(({ name, figures, outcomes }) => {
    const against = outcomes.filter((outcome) => outcome.case.should === 'not_load');
    const passed = against.filter((outcome) => passes(outcome, k)).length;
    return { name, figures, notLoad: [passed, against.length], failed: outcomes.filter((outcome) => !passes(outcome, k)) };
  });
}

export function rankingJson({ name, figures, notLoad: [passed, cases], failed }: Ranking): JsonValue {
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

export interface Shown {
  readonly k: number;
  readonly leftOut: number;
  readonly refused: string | null;
}

export function printRankings(io: CommandIO, rankings: readonly [Ranking, ...Ranking[]], { k, leftOut, refused }: Shown): void {
  const [{ figures: first, notLoad }] = rankings;
  if (leftOut > 0)
    io.print(`${leftOut} ${leftOut === 1 ? 'text is' : 'texts are'} left out: the ranker knows them. It is measured by evals/evals.yaml.`);
  if (first.cases + notLoad[1] === 0 && leftOut === 0)
    io.print("No skill that was asked for has examples. Add 'examples' to its frontmatter, or evals/evals.yaml.");
  else if (first.cases + notLoad[1] > 0) {
    const percent = (value: number) => (value * 100).toFixed(1);
    const rows = rankings.map(({ name, figures, notLoad: [passed, against] }) => [
      name,
      String(figures.cases),
      ...[figures.recallAt1, figures.recallAt5, figures.recallAt12, figures.ndcgAt10, figures.mrr].map(percent),
      against === 0 ? '–' : `${passed}/${against}`,
    ]);
    const titles = ['RANKER', 'CASES', 'R@1', 'R@5', 'R@12', 'nDCG@10', 'MRR', 'NOT LOADED'];
    io.print(renderTable(rows, textColumns(titles), widthOf(io)));
    for (const outcome of rankings.at(-1)!.failed) io.print(clean(failure(outcome, k)));
    if (first.cases < ENOUGH_CASES)
      io.print(`${counted(first.cases, 'case')} ${first.cases === 1 ? 'says' : 'say'} little; ${ENOUGH_CASES} and more say something.`);
  }
  if (refused !== null) io.print(clean(refused));
}

/** How many ranks are searched for the right skill. */
const DEPTH = 100;

function failure({ case: { skillId, text, should, from }, rank, before }: SearchOutcome, k: number): string {
  if (should === 'not_load') return `${skillId} is first for '${text}' (${from}), and should not be`;
  const place = rank === null ? `is not among the first ${DEPTH}` : `is ${rank}, beyond ${k},`;
  return `${skillId} ${place} for '${text}' (${from}); before it: ${before.length === 0 ? 'nothing' : before.join(', ')}`;
}
