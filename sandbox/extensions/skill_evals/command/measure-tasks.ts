import { type CommandInput, type CommandIO, type ExtensionContext, type JsonValue, PithError, Places } from 'pith';
import { SkillLibrary, type SkillRecord } from 'pith/skill_registry';
import type { ProposedSkill } from 'pith/skill_proposals';
import { counted, numberText } from '@pith/plain-text';
import type { SkillCases } from '../cases/case.ts';
import type { Config } from '../config.ts';
import type { Runner, RunsEnded } from '../runs/runner.ts';
import { planFor, type ReadyWorker, resultsOf, type SkillPlan } from './task-plan.ts';
import { isBroken, printTasks, taskCase, taskJson, type TaskReport } from './task-report.ts';
import { type Worker, workerOf } from './worker.ts';

export interface EvalPorts {
  readonly context: ExtensionContext<Config>;
  readonly runner: Runner;
  readonly input: CommandInput;
  readonly io: CommandIO;
}

export interface Measured {
  readonly reports: readonly TaskReport[];
  readonly isBroken: boolean;
  readonly json: { readonly [key: string]: JsonValue };
}

const NOTHING: Measured = { reports: [], isBroken: false, json: { model: null, skills: [] } };
/** What a run is expected to use where none was made yet. */
const FIRST_TOKENS = 5000;

/** Runs the tasks of skills with a model: says before what it will cost, and asks where that is much. */
export async function measureTasks(
  ports: EvalPorts,
  cases: readonly (readonly [SkillRecord, SkillCases])[],
  proposal: ProposedSkill | null,
  signal: AbortSignal,
): Promise<Measured> {
  const { context, runner, input, io } = ports;
  const { config } = context;
  const planning = { runner, config };
  const measured = cases.filter(([, { tasks }]) => tasks.length > 0);
  const count = measured.reduce((sum, [, { tasks }]) => sum + tasks.length, 0);
  if (count === 0) return NOTHING;
  const notRun = `${count} ${count === 1 ? 'task was' : 'tasks were'} not run`;
  if (input.options['offline'] === true) return said(`${notRun}: --offline.`);
  if (context.use(Places).untrustedSandbox !== null) return said(`${notRun}: the sandbox is not trusted (see: pith trust).`);
  const worker = await workerOf(context, { agent: option(input, 'agent'), model: option(input, 'model') }, signal);
  if (!isReady(worker)) return said(`${notRun}: no model is connected (see: pith setup).`);
  const plans: SkillPlan[] = [];
  for (const [skill, { tasks }] of measured) {
    if (skill.state !== 'draft' && !(await context.use(SkillLibrary).isTrusted(`${skill.source}/${skill.id}`)))
      throw new PithError('skill_not_offered', `skill '${skill.id}' is not as it was trusted`, {
        cure: `look at it: pith skills trust ${skill.id}`,
      });
    plans.push(await planFor({ skill, tasks, ...(proposal === null ? {} : { proposed: proposal.after }) }, worker, planning, signal));
  }
  const runs = plans.flatMap((plan) => plan.runs);
  if (!(await agreed(runs.length, worker, ports))) return said(`${notRun}.`);
  const ended = runs.length === 0 ? null : await runner.run(runs, progressTo(io), signal);
  const reports: TaskReport[] = [];
  for (const plan of plans) {
    const found: TaskReport['cases'][number][] = [];
    for (const task of plan.tasks) found.push(taskCase(task, await resultsOf(plan, task, worker, planning), config.repeats));
    const report = { id: plan.skill.id, worker, sides: plan.sides.map(({ name }) => name), cases: found };
    reports.push(report);
    printTasks(io, report);
  }
  for (const line of ended === null ? [] : endLines(ended)) io.error(line);
  const json = {
    model: worker.model,
    stopped: ended?.limit ?? null,
    failures: [...(ended?.failures ?? [])],
    skills: reports.map(taskJson),
  };
  return { reports, isBroken: reports.some(isBroken), json };

  function said(line: string): Measured {
    io.print(line);
    return NOTHING;
  }
}

function option({ options }: CommandInput, name: string): string | null {
  return typeof options[name] === 'string' ? options[name] : null;
}

function isReady(worker: Worker | null): worker is ReadyWorker {
  return worker !== null && worker.model !== null;
}

/** Says what the runs will use, and asks where they are many. */
async function agreed(runs: number, { model }: ReadyWorker, { context, runner, input, io }: EvalPorts): Promise<boolean> {
  if (runs === 0) return true;
  const { ask_above: askAbove, max_runs: maxRuns, max_tokens: maxTokens } = context.config;
  const each = (await runner.store.meanTokens()) ?? FIRST_TOKENS;
  const about = Math.ceil((Math.min(runs, maxRuns) * each) / 100) * 100;
  const what = `${counted(runs, 'run')} with ${model}, about ${numberText(about)} tokens in all (no prices are known)`;
  io.error(`${what}; at most ${numberText(maxRuns)} runs and ${numberText(maxTokens)} tokens (extensions.skill_evals).`);
  if (runs <= askAbove || input.options['yes'] === true) return true;
  if (!io.interactive)
    throw new PithError('confirmation_needed', `nobody can be asked about ${what}: more than ${numberText(askAbove)} need a yes`, {
      cure: 'add --yes',
    });
  return (await io.ask(`${what}. Go on?`, { choices: ['yes', 'no'] })) === 'yes';
}

function progressTo(io: CommandIO): (now: { readonly done: number; readonly of: number }) => void {
  return ({ done, of }) => {
    if (!io.wantsJson && !io.quiet) io.error(`run ${done} of ${of} …`);
  };
}

/** What was not measured, and why. */
function endLines({ limit, made, left, failures }: RunsEnded): readonly string[] {
  const rest = `${counted(left, 'run')} ${left === 1 ? 'was' : 'were'} not made. What was measured is kept.`;
  return [
    ...new Set(failures),
    ...(limit === null ? [] : [`Stopped after ${counted(made, 'run')} by the setting extensions.skill_evals.${limit}; ${rest}`]),
  ];
}
