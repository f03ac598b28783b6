import type { CommandIO, JsonValue } from 'pith';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import type { Task } from '../cases/case.ts';
import type { RunResult } from '../runs/run-store.ts';
import { overall, tallyOf, type Verdict, verdictOf } from '../verdict.ts';
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
  /** The newest version against the one before it: `proposed` against `in use`, else `in use` against `without`. null: runs are missing. */
  readonly verdict: Verdict | null;
}

export function taskCase(task: Task, results: ResultsOf, repeats: number): TaskCase {
  const [after, before] =
    (['proposed', 'in use', 'without'] as const).flatMap((name) => results.get(name) ?? []).length === 0 ? [] : newestTwo(results);
  const isWhole = before !== undefined && after !== undefined && before.length === repeats && after.length === repeats;
  return { task, results, verdict: isWhole ? verdictOf(tallyOf(before), tallyOf(after)) : null };
}

function newestTwo(results: ResultsOf): readonly (readonly RunResult[])[] {
  return (['proposed', 'in use', 'without'] as const).flatMap((name) => (results.has(name) ? [results.get(name)!] : [])).slice(0, 2);
}

/** Whether a case is broken by the newest version. */
export function isBroken({ cases }: TaskReport): boolean {
  return cases.some(({ verdict }) => verdict === 'broken');
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
    cases.map(({ task, results, verdict }) => [
      printableLine(task.prompt, 60),
      task.split === 'train' ? 'train' : 'held out',
      ...sides.flatMap((name) => {
        const { runs, passed, loaded } = tallyOf(results.get(name) ?? []);
        return name === 'without' ? [`${passed}/${runs}`] : [`${passed}/${runs}`, `${loaded}/${runs}`];
      }),
      verdict ?? 'not measured',
    ]),
  );
  const newest = sides.at(-1)!;
  for (const { task, results } of cases)
    for (const reason of new Set(
      (results.get(newest) ?? []).flatMap((one) => [...one.reasons, ...one.judged.filter((said) => said.startsWith('fail'))]),
    ))
      io.print(`'${printableLine(task.prompt, 60)}', ${newest}: ${printableLine(reason, 300)}`);
  io.print(gainLine(report));
}

/** What is said of the whole: an average would hide a broken case. */
export function gainLine({ cases, sides }: Pick<TaskReport, 'cases' | 'sides'>): string {
  const verdicts = cases.flatMap(({ task, verdict }) => (verdict === null ? [] : [{ case: task, verdict }]));
  const count = (which: Verdict) => verdicts.filter(({ verdict }) => verdict === which).length;
  const against = sides.includes('proposed') ? 'the version in use' : 'no skill';
  const unmeasured = cases.length - verdicts.length;
  const rest = unmeasured > 0 ? `; ${unmeasured} not measured` : '';
  if (verdicts.length === 0) return `Nothing was measured against ${against}.`;
  const said = overall(verdicts) === 'same' ? 'no measured gain' : `${count('repaired')} repaired, ${count('broken')} broken`;
  return `Against ${against}: ${said}, ${count('same')} the same${rest}.`;
}

/** The mean, with the least and the most. */
function spread(values: readonly number[], digits: number): string {
  if (values.length === 0) return '–';
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const [least, most] = [Math.min(...values), Math.max(...values)].map((one) => one.toFixed(digits));
  return least === most ? mean.toFixed(digits) : `${mean.toFixed(digits)} (${least}–${most})`;
}

export function taskJson({ id, worker, sides, cases }: TaskReport): JsonValue {
  return {
    id,
    model: worker.model,
    agent: worker.agent,
    verdict: overall(cases.flatMap(({ task, verdict }) => (verdict === null ? [] : [{ case: task, verdict }]))),
    cases: cases.map(({ task, results, verdict }) => ({
      prompt: task.prompt,
      split: task.split,
      verdict,
      sides: sides.map((name) => ({
        name,
        ...tallyOf(results.get(name) ?? []),
        results: (results.get(name) ?? []).map((one) => ({ ...one })),
      })),
    })),
  };
}
