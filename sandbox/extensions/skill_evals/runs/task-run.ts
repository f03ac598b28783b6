import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { execPath } from 'node:process';
import { codeOf, messageOf, PithError, type Places } from 'pith';
import { fieldsOf, jsonOf, type PlainMap } from '@pith/plain-data';
import type { StateFolder } from '@pith/safe-files';
import { runProgram } from '@pith/supervised-process';
import type { Task } from '../cases/case.ts';
import type { Config } from '../config.ts';
import { JUDGE_INSTRUCTIONS, judgedOf, judgeQuestion, type Transcript, unmet, verdictsIn } from './expectations.ts';
import type { RunResult } from './run-store.ts';
import { addJudge, JUDGE, layOut } from './trial-project.ts';

export interface TaskRun {
  /** The id of the skill. */
  readonly id: string;
  readonly task: Task;
  /** The folder of the skill; null: without it. */
  readonly skill: string | null;
  readonly others: string;
  readonly model: string;
  readonly agent: string;
  /** The agent carries the skill in its instructions (`uses_skills`). */
  readonly isBound: boolean;
}

export interface RunPorts {
  readonly places: Places;
  /** Projects of runs are made in it and removed. */
  readonly trials: StateFolder;
  readonly config: Config;
  now(): number;
}

const MOST_OUTPUT = 16 * 1024 * 1024;
/** What this process was told about its own state and skills is not for a run. */
const NOT_INHERITED = ['PITH_DATA_DIR', 'PITH_SKILLS_SOURCES', 'PITH_SKILLS_SKILLS_PATH'];

/** Runs a task as a person would, in a `pith chat` of its own, in a fresh project. Rejects where the model or Pith failed: that says nothing of a skill. */
export async function runTask(run: TaskRun, ports: RunPorts, signal: AbortSignal): Promise<RunResult> {
  const name = randomUUID();
  const root = ports.trials.folder(name).make();
  const begun = ports.now();
  try {
    const sandbox = await layOut({ root, skill: run.skill, others: run.others, files: run.task.files }, ports.places);
    const chat = (words: readonly string[]) => chatIn(sandbox, [...words, '--model', run.model], ports, signal);
    const allowed = ports.config.allow.flatMap((rule) => ['--allow', rule]);
    const { loaded, transcript, usage, reason } = await chat([
      '--agent',
      run.agent,
      ...(allowed.length > 0 ? [...allowed, '--yes'] : []),
      '--prompt',
      run.task.prompt,
    ]).then((events) => readEvents(events, run));
    const reasons = [...(reason === null ? [] : [reason]), ...(await unmet(run.task.expect, transcript))];
    const statements = judgedOf(run.task.expect);
    const judged: string[] = [];
    if (statements.length > 0 && reasons.length === 0) {
      await addJudge(sandbox, JUDGE_INSTRUCTIONS);
      const question = judgeQuestion(run.task.prompt, transcript, statements, `---- ${randomUUID()} ----`);
      const answer = readEvents(await chat(['--agent', JUDGE, `--prompt=${question}`]), run);
      usage.inputTokens += answer.usage.inputTokens;
      usage.outputTokens += answer.usage.outputTokens;
      const verdicts = verdictsIn(answer.transcript.answer, statements.length);
      if (verdicts === null)
        throw new PithError('model_failed', 'the judge did not answer with PASS or FAIL for each statement', {
          cure: 'connect a larger model',
        });
      for (const [at, { passed, reason: why }] of verdicts.entries()) {
        judged.push(`${passed ? 'pass' : 'fail'}: ${statements[at]!}: ${why}`);
        if (!passed) reasons.push('the result is not as expected');
      }
    }
    const milliseconds = ports.now() - begun;
    return { passed: reasons.length === 0, loaded, reasons: [...new Set(reasons)], judged, ...usage, milliseconds };
  } finally {
    ports.trials.remove(name);
  }
}

type Events = readonly PlainMap[];

async function chatIn(sandbox: string, words: readonly string[], { places, config }: RunPorts, signal: AbortSignal): Promise<Events> {
  const pith = path.join(path.dirname(places.shippedSandbox), 'bin', 'pith');
  const environment = ['env', ...NOT_INHERITED.flatMap((name) => ['-u', name])];
  const argv = [...environment, execPath, pith, 'chat', '--json', '--trust', '--sandbox', sandbox, ...words];
  const ended = await runProgram({ argv, cwd: path.dirname(sandbox), mostBytes: MOST_OUTPUT, mostMs: config.run_minutes * 60_000 }, signal);
  const events = ended.output
    .toString()
    .split('\n')
    .map((line) => fieldsOf(jsonOf(line)));
  if (ended.passed === 'time') return [...events, { type: 'turn-end', reason: 'limit', text: '', usage: {} }];
  if (events.some(({ type }) => type === 'turn-end')) return events;
  const said =
    ended.errors
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^pith: /, '') || 'it said nothing';
  throw new PithError('start_failed', `a run did not begin: ${said}`, { cure: 'see: pith doctor' });
}

interface Read {
  readonly loaded: boolean;
  readonly transcript: Transcript;
  readonly usage: { inputTokens: number; outputTokens: number };
  /** Why the turn did not end well; null: it did. */
  readonly reason: string | null;
}

/** Throws where the model or Pith failed. */
function readEvents(events: Events, { id, isBound, skill }: Pick<TaskRun, 'id' | 'isBound' | 'skill'>): Read {
  const results = events.filter(({ type, ok }) => type === 'tool-result' && ok === true);
  const end = events.findLast(({ type }) => type === 'turn-end')!;
  const error = fieldsOf(end['error']);
  if (end['reason'] === 'error' || end['reason'] === 'aborted') {
    const code = codeOf(error, 'model_failed');
    throw new PithError(typeof error['code'] === 'string' ? error['code'] : code, messageOf(error['message'] ?? 'the turn failed'));
  }
  const asked = events.findLast(({ type }) => type === 'approval-request');
  const { inputTokens = 0, outputTokens = 0 } = fieldsOf(end['usage']) as Partial<Record<'inputTokens' | 'outputTokens', number>>;
  return {
    loaded: skill !== null && (isBound || results.some(({ metadata }) => fieldsOf(metadata)['skill_id'] === id)),
    transcript: { answer: String(end['text'] ?? ''), tools: results.map(({ name }) => String(name)) },
    usage: { inputTokens, outputTokens },
    reason:
      end['reason'] === 'done'
        ? null
        : end['reason'] === 'limit'
          ? 'the run reached a limit'
          : `it waited for a person to allow ${String(asked?.['tool'] ?? 'a tool')}`,
  };
}
