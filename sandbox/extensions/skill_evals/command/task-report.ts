import type { CommandIO, JsonValue } from 'pith';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import { numberText, printableLine } from '@pith/plain-text';
import type { Task } from '../cases/case.ts';
import { countsText, gainText, type Judged, overall, tallyOf, type Verdict, verdictOf } from '../verdict.ts';
import type { ReadyWorker, ResultsOf, SideName } from './task-plan.ts';

/** What the runs of a skill's tasks have shown. */
export interface TaskReport {
  readonly id: string;
  readonly worker: ReadyWorker;
  readonly sides: readonly SideName[];
  readonly cases: readonly TaskCase[];
}

export interface TaskCase {
  readonly task: Task;
  readonly results: ResultsOf;
  /** The newest version against each of the other sides; without those for which runs are missing. */
  readonly verdicts: ReadonlyMap<SideName, Verdict>;
}

export function taskCase(task: Task, results: ResultsOf, repeats: number): TaskCase {
  const newest = [...results.values()].at(-1) ?? [];
  const verdicts = new Map<SideName, Verdict>();
  for (const [name, before] of [...results].slice(0, -1))
    if (before.length === repeats && newest.length === repeats) verdicts.set(name, verdictOf(tallyOf(before), tallyOf(newest)));
  return { task, results, verdicts };
}

/** The cases by the newest version against another side. */
function judgedAgainst({ cases }: Pick<TaskReport, 'cases'>, name: SideName): readonly Judged[] {
  return cases.flatMap(({ task, verdicts }) => (verdicts.has(name) ? [{ case: task, verdict: verdicts.get(name)! }] : []));
}

/** The side that the newest version takes the place of. */
function formerOf({ sides }: Pick<TaskReport, 'sides'>): SideName {
  return sides.at(-2) ?? 'without';
}

/** Whether a case is broken by the newest version, against what it takes the place of. */
export function isBroken(report: TaskReport): boolean {
  return overall(judgedAgainst(report, formerOf(report))) === 'worse';
}

export function printTasks(io: CommandIO, report: TaskReport): void {
  const { id, worker, sides, cases } = report;
  const print = (titles: readonly string[], rows: readonly (readonly string[])[]) =>
    io.print(renderTable(rows, textColumns(titles), widthOf(io)));
  io.print(`\n${printableLine(id)}: ${cases.length} ${cases.length === 1 ? 'task' : 'tasks'} with ${worker.model}, agent ${worker.agent}`);
  print(
    ['SKILL', 'RUNS', 'PASSED', 'LOADED', 'TOKENS A RUN', 'SECONDS A RUN'],
    sides.map((name) => {
      const results = cases.flatMap((one) => one.results.get(name) ?? []);
      const { runs, passed, loaded } = tallyOf(results);
      const tokens = results.map((one) => one.inputTokens + one.outputTokens);
      const seconds = results.map(({ milliseconds }) => milliseconds / 1000);
      const rate = runs === 0 ? '' : ` (${Math.round((passed / runs) * 100)} %)`;
      return [
        name,
        String(runs),
        `${passed}/${runs}${rate}`,
        name === 'without' ? '–' : `${loaded}/${runs}`,
        spread(tokens, 0),
        spread(seconds, 1),
      ];
    }),
  );
  print(
    ['TASK', 'SPLIT', ...sides.flatMap((name) => (name === 'without' ? ['WITHOUT'] : [name.toUpperCase(), 'LOADED'])), 'VERDICT'],
    cases.map(({ task, results, verdicts }) => [
      printableLine(task.prompt, 60),
      task.split,
      ...sides.flatMap((name) => {
        const { runs, passed, loaded } = tallyOf(results.get(name) ?? []);
        return name === 'without' ? [`${passed}/${runs}`] : [`${passed}/${runs}`, `${loaded}/${runs}`];
      }),
      verdicts.get(formerOf(report)) ?? 'not measured',
    ]),
  );
  const newest = sides.at(-1)!;
  for (const { task, results } of cases)
    for (const reason of new Set(
      (results.get(newest) ?? []).flatMap((one) => [...one.reasons, ...one.judged.filter((said) => said.startsWith('fail'))]),
    ))
      io.print(`'${printableLine(task.prompt, 60)}', ${newest}: ${printableLine(reason, 300)}`);
  for (const name of sides.slice(0, -1).reverse()) {
    const judged = judgedAgainst(report, name);
    const missing = cases.length - judged.length;
    const against = name === 'without' ? 'no skill' : `the version ${name}`;
    const counts = sides.length > 2 ? countsText(judged) : gainText(judged); // of a proposal the comparison that follows says what was gained
    io.print(`Against ${against}: ${counts}${missing > 0 ? `, ${missing} not measured` : ''}.`);
  }
}

/** The mean, with the least and the most. */
function spread(values: readonly number[], digits: number): string {
  if (values.length === 0) return '–';
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const [said, least, most] = [mean, Math.min(...values), Math.max(...values)].map((one) => numberText(one, digits));
  return least === most ? said! : `${said} (${least}–${most})`;
}

export function taskJson(report: TaskReport): JsonValue {
  const { id, worker, sides, cases } = report;
  return {
    id,
    model: worker.model,
    agent: worker.agent,
    verdict: overall(judgedAgainst(report, formerOf(report))),
    cases: cases.map(({ task, results, verdicts }) => ({
      prompt: task.prompt,
      split: task.split,
      verdict: verdicts.get(formerOf(report)) ?? null,
      sides: sides.map((name) => ({
        name,
        ...tallyOf(results.get(name) ?? []),
        results: (results.get(name) ?? []).map((one) => ({ ...one })),
      })),
    })),
  };
}
