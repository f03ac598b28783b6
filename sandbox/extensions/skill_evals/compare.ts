import path from 'node:path';
import { type ExtensionContext, messageOf, PithError } from 'pith';
import { type SkillComparison, SkillLibrary, type SkillVersions } from 'pith/skill_registry';
import { type SearchCase, SearchMeasurer, type SearchOutcome } from 'pith/skill_search';
import { counted } from '@pith/plain-text';
import { canonicalJson } from '@pith/plain-data';
import { realPathOf } from '@pith/safe-files';
import type { SkillCases, Task, Trigger } from './cases/case.ts';
import { readCases } from './cases/case-files.ts';
import { passes, SHOWN_BESIDE } from './command/search-figures.ts';
import type { Config } from './config.ts';
import { sideOf } from './runs/folders.ts';
import { type RunResult, type RunStore, WITHOUT } from './runs/run-store.ts';
import { countsText, isGain, type Judged, overall, tallyOf, textOf, triggerVerdict, verdictOf } from './verdict.ts';

export interface ComparePorts {
  readonly context: Pick<ExtensionContext<Config>, 'use' | 'find' | 'config'>;
  readonly store: RunStore;
}

/** Judges a new version of a skill by the cases of the old one; without any, by its own. Asks no model. null: there are no cases. */
export async function compareVersions(versions: SkillVersions, ports: ComparePorts, signal: AbortSignal): Promise<SkillComparison | null> {
  const before = versions.before === null ? null : realPathOf(versions.before);
  const after = realPathOf(versions.after);
  const old = before === null ? NONE : await casesOrReason(before);
  const own = await casesOrReason(after);
  const cases = old.cases ?? own.cases ?? (old.reason === null && own.reason === null ? null : { triggers: [], tasks: [] });
  if (cases === null) return null;
  const changesCases = before !== null && !isSame(old.cases, own.cases);
  const real = { id: versions.id, before, after };
  const found = await comparedTriggers(cases.triggers, real, ports, signal);
  const ran = await comparedTasks(cases.tasks, real, ports);
  const judged = [...found.judged, ...ran.judged];
  const verdict = overall(judged);
  const texts = (which: Judged['verdict']) => judged.filter((one) => one.verdict === which).map((one) => textOf(one.case));
  const [broken, repaired] = [texts('broken'), texts('repaired')];
  return {
    verdict,
    lines: [
      ...(verdict === 'same' ? ['no measured gain'] : []),
      ...(changesCases ? ['it changes evals/: judged by the old cases'] : []),
      ...[old, own].flatMap(({ reason }) => (reason === null ? [] : [reason])),
      ...found.lines,
      ...ran.lines,
      ...broken.map((text) => `broken: '${text}'`),
      ...repaired.map((text) => `repaired: '${text}'`),
      ...(judged.length < ENOUGH ? [`${counted(judged.length, 'case')} ${judged.length === 1 ? 'says' : 'say'} little`] : []),
    ],
    broken,
    repaired,
    forAuthor: [...found.forAuthor, ...ran.forAuthor],
    changesCases,
    gain: isGain(judged),
  };
}

/** With fewer cases a verdict says little. */
const ENOUGH = 5;

interface Found {
  readonly cases: SkillCases | null;
  /** Why they cannot be read; null: they can, or there are none. */
  readonly reason: string | null;
}

const NONE: Found = { cases: null, reason: null };

/** What one version has wrong in its cases does not stop those of the other from judging it. */
async function casesOrReason(directory: string): Promise<Found> {
  try {
    return { cases: await readCases(directory), reason: null };
  } catch (error) {
    const where = error instanceof PithError && error.where !== undefined ? `${path.relative(directory, error.where)}: ` : '';
    return { cases: null, reason: `its cases cannot be read: ${where}${messageOf(error)}` };
  }
}

function isSame(one: SkillCases | null, other: SkillCases | null): boolean {
  const keys = (cases: SkillCases | null) => [...(cases?.triggers ?? []), ...(cases?.tasks ?? [])].map(({ key, split }) => [key, split]);
  return canonicalJson(keys(one)) === canonicalJson(keys(other));
}

interface Part {
  readonly judged: readonly Judged[];
  readonly lines: readonly string[];
  readonly forAuthor: readonly string[];
}

const NOTHING: Part = { judged: [], lines: [], forAuthor: [] };

async function comparedTriggers(
  triggers: readonly Trigger[],
  versions: SkillVersions,
  ports: ComparePorts,
  signal: AbortSignal,
): Promise<Part> {
  if (triggers.length === 0) return NOTHING;
  const [measurer] = ports.context.find(SearchMeasurer);
  if (measurer === undefined) return { ...NOTHING, lines: ["triggers were not measured: the extension 'skill_search' is switched off"] };
  const { id, before, after } = versions;
  const cases = triggers.map(({ text, should }): SearchCase => ({ skillId: id, text, should, from: 'evals' }));
  const passed = async (directory: string): Promise<ReadonlyMap<string, boolean> | null> => {
    const document = await ports.context.use(SkillLibrary).documentAt(directory, id);
    if (document === null) return null;
    const { reports } = await measurer.measure({ skills: [], cases, ranker: 'lexical', replacements: [document] }, signal);
    return new Map((reports[0]?.outcomes ?? []).map((outcome: SearchOutcome) => [keyOf(outcome.case), passes(outcome, SHOWN_BESIDE)]));
  };
  const now = await passed(after);
  // A new skill is not better for being found at all: a trigger that fails counts against it, one that passes counts for nothing.
  const then = before === null ? new Map(triggers.map((one) => [keyOf(one), true])) : await passed(before);
  const isPassed = (side: ReadonlyMap<string, boolean> | null, one: Trigger) => side?.get(keyOf(one)) === true;
  const count = (side: ReadonlyMap<string, boolean> | null) => triggers.filter((one) => isPassed(side, one)).length;
  const of = `of ${triggers.length} triggers`;
  const line = before === null ? `${count(now)} ${of} pass, offline` : `${count(then)} ${of} passed before, ${count(now)} after, offline`;
  return {
    judged: triggers.map((one) => ({ case: one, verdict: triggerVerdict(isPassed(then, one), isPassed(now, one)) })),
    lines: [line],
    forAuthor: triggers.filter((one) => one.split === 'train' && !isPassed(now, one)).map(authorsTrigger),
  };
}

function keyOf({ text, should }: Pick<Trigger, 'text' | 'should'>): string {
  return JSON.stringify([text.trim(), should]);
}

function authorsTrigger({ text, should }: Trigger): string {
  return should === 'load' ? `The skill is not found for '${text}'.` : `The skill is found first for '${text}', and should not be.`;
}

/** By what runs have shown before: those of the worker that ran the new version last. */
async function comparedTasks(tasks: readonly Task[], { before, after }: SkillVersions, { context, store }: ComparePorts): Promise<Part> {
  if (tasks.length === 0) return NOTHING;
  const { repeats } = context.config;
  const [side, former] = [await sideOf(after), before === null ? WITHOUT : await sideOf(before)];
  const worker = side === null ? null : await store.latest(side, tasks);
  const notRun = [`${counted(tasks.length, 'task')} not run with this version`];
  if (side === null || former === null || worker === null) return { ...NOTHING, lines: notRun, forAuthor: await failedNow(former) };
  const judged: Judged[] = [];
  const againstNone: Judged[] = [];
  const forAuthor: string[] = [];
  const all = { former: [] as RunResult[], present: [] as RunResult[], without: [] as RunResult[] };
  for (const task of tasks) {
    const of = async (which: string) => [...(await store.of({ task: task.key, side: which, ...worker }, repeats)).values()];
    const [then, now, without] = [await of(former), await of(side), await of(WITHOUT)];
    if (task.split === 'train') forAuthor.push(...authorsTask(task, now));
    if (then.length < repeats || now.length < repeats) continue;
    judged.push({ case: task, verdict: verdictOf(tallyOf(then), tallyOf(now)) });
    if (without.length === repeats) againstNone.push({ case: task, verdict: verdictOf(tallyOf(without), tallyOf(now)) });
    all.former.push(...then);
    all.present.push(...now);
    all.without.push(...without);
  }
  const share = (results: readonly RunResult[]) => `${tallyOf(results).passed}/${results.length}`;
  const compared = before === null ? '' : `before ${share(all.former)}, `;
  const lines = [
    ...(judged.length === 0
      ? []
      : [
          `${counted(judged.length, 'task')} with ${worker.model}, ${repeats} runs each: ${compared}after ${share(all.present)} passed (${tallyOf(all.present).loaded} loaded it), without the skill ${share(all.without)}`,
        ]),
    ...(before !== null && againstNone.length > 0 ? [`against no skill: ${countsText(againstNone)}`] : []),
    ...(judged.length < tasks.length ? [`${counted(tasks.length - judged.length, 'task')} not run often enough`] : []),
  ];
  return { judged, lines, forAuthor };

  /** Of what the author starts from, where nobody has measured the change yet. */
  async function failedNow(now: string | null): Promise<readonly string[]> {
    const known = now === null ? null : await store.latest(now, tasks);
    if (now === null || known === null || now === WITHOUT) return [];
    const sentences = tasks
      .filter(({ split }) => split === 'train')
      .map(async (task) => authorsTask(task, [...(await store.of({ task: task.key, side: now, ...known }, repeats)).values()]));
    return (await Promise.all(sentences)).flat().map((sentence) => `With the version in use: ${sentence}`);
  }
}

/** What a judge said stays with the person. */
function authorsTask({ prompt }: Task, results: readonly RunResult[]): readonly string[] {
  const failed = results.filter(({ passed }) => !passed);
  if (failed.length === 0) return [];
  const reasons = [...new Set(failed.flatMap((one) => one.reasons))].join(', ');
  return [`Of ${counted(results.length, 'run')} of '${prompt}' ${failed.length} failed: ${reasons}.`];
}
