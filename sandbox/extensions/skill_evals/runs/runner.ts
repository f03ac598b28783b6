import { existsSync, lstatSync, renameSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { codeOf, type ExtensionContext, type JobInfo, messageOf, PithError, Places, z } from 'pith';
import { SkillLibrary } from 'pith/skill_registry';
import { canonicalJson, fieldsOf, sha256 } from '@pith/plain-data';
import { once } from '@pith/promises';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { readCases } from '../cases/case-files.ts';
import type { Config } from '../config.ts';
import { copyWithoutCases, keepFolder, type KeptFolder } from './folders.ts';
import { type RunKey, type RunResult, RunStore } from './run-store.ts';
import { runTask } from './task-run.ts';

const JOB = 'run';
/** What a killed process left is removed after so long. */
const DAY_MS = 24 * 60 * 60_000;
/** As the manifest has it: a crash, or an answer of the model that cannot be used, is tried once more. */
const ATTEMPTS = 2;
/** So many failures are no accident: the command ends. */
const MOST_FAILURES = 3;
/** Runs of one command that go on at the same time, as the manifest has it. */
const AT_ONCE = 2;

const payloadSchema = once(() =>
  z.object({
    id: z.string(),
    /** The folder with its cases. */
    cases: z.string(),
    task: z.string(),
    side: z.string(),
    skill: z.string().nullable(),
    others: z.string(),
    model: z.string(),
    agent: z.string(),
    isBound: z.boolean(),
    repetition: z.number(),
  }),
);

/** A run that is to be made: plain data, which another process may go on with. It holds no text of a case. */
export type PlannedRun = z.output<ReturnType<typeof payloadSchema>>;

export interface Progress {
  readonly done: number;
  readonly of: number;
}

export interface RunsEnded {
  /** The setting that stopped it; null: it made all. */
  readonly limit: 'max_runs' | 'max_tokens' | null;
  readonly made: number;
  readonly left: number;
  /** Why runs could not be made. */
  readonly failures: readonly string[];
}

/** Makes runs as jobs: a crash loses the one that was being made, and what was measured is kept. */
export class Runner {
  readonly store: RunStore;
  readonly #folders: StateFolder;

  constructor(private readonly context: ExtensionContext<Config>) {
    this.store = new RunStore(context.database);
    this.#folders = stateFolder(context.dataDirectory, 'folders');
    context.jobs.define(JOB, async ({ payload, attempt }, signal) => {
      try {
        const { passed, loaded } = await this.#make(payloadSchema().parse(payload), signal);
        return { passed, loaded };
      } catch (error) {
        if (signal.aborted || attempt < ATTEMPTS) throw error;
        return { code: codeOf(error, 'internal'), failed: messageOf(error) }; // nobody has to look after it: the command says it
      }
    });
  }

  /** Copies a skill for the runs. null: its folder is gone. */
  keep(id: string, directory: string, signal: AbortSignal): Promise<KeptFolder | null> {
    return keepFolder(this.#folders, id, directory, signal);
  }

  /** A folder with copies of all offered skills but this one. */
  async others(id: string, signal: AbortSignal): Promise<string> {
    this.#sweep();
    const { skills } = await this.context.use(SkillLibrary).records();
    const others = skills.filter((skill) => skill.state === 'offered' && skill.id !== id);
    const digest = sha256(canonicalJson(others.map(({ id: other, stamp, realDirectory }) => [other, stamp, realDirectory])));
    const place = path.join(this.#folders.make(), `others-${digest}`);
    if (existsSync(place)) {
      const now = this.context.clock.now() / 1000;
      utimesSync(place, now, now); // it is in use, and stays
      return place;
    }
    const draft = this.#folders.folder(`.${randomUUID()}`).make();
    for (const skill of others) await copyWithoutCases(skill.realDirectory, path.join(draft, skill.id), signal);
    if (existsSync(place)) await rm(draft, { recursive: true, force: true });
    else renameSync(draft, place);
    return place;
  }

  /** Makes the runs, two at a time, until a limit of the settings is reached. Rejects with the error of the third that could not be made. */
  async run(planned: readonly PlannedRun[], progress: (now: Progress) => void, signal: AbortSignal): Promise<RunsEnded> {
    const { max_runs: maxRuns, max_tokens: maxTokens } = this.context.config;
    const waiting = [...planned];
    const stop = new AbortController();
    let [begun, done, tokens] = [0, 0, 0];
    let limit: RunsEnded['limit'] = null;
    const failures: string[] = [];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const why = begun >= maxRuns ? 'max_runs' : tokens >= maxTokens ? 'max_tokens' : null;
        if (why !== null) {
          limit ??= why;
          return;
        }
        begun += 1;
        try {
          const result = await this.#finish(next, AbortSignal.any([signal, stop.signal]));
          tokens += result.inputTokens + result.outputTokens;
        } catch (error) {
          failures.push(messageOf(error));
          if (signal.aborted || stop.signal.aborted || failures.length >= Math.min(MOST_FAILURES, planned.length)) throw error;
        }
        done += 1;
        progress({ done, of: planned.length });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work)).catch((error: unknown) => {
      stop.abort(error);
      throw error;
    });
    return { limit, made: begun - failures.length, left: planned.length - begun, failures };
  }

  /** One job from its start to its end. Where the command is interrupted, the job is too: nobody wants to pay for it. */
  async #finish(planned: PlannedRun, signal: AbortSignal): Promise<RunResult> {
    signal.throwIfAborted();
    const { jobs } = this.context;
    const { id } = await jobs.add(JOB, planned, { unique: sha256(canonicalJson(keyOf(planned))), owner: planned.id });
    let ended: JobInfo;
    try {
      ended = await jobs.finished(id, signal);
    } catch (error) {
      await jobs.cancel(id, 'the command that wanted it ended');
      throw error;
    }
    const result = await this.#kept(keyOf(planned));
    if (ended.state === 'done' && result !== null) return result;
    const { code = 'cancelled', failed = 'it was cancelled' } = { failed: ended.error?.message, ...fieldsOf(ended.result) };
    throw new PithError(String(code), `a run of '${planned.id}' could not be made: ${String(failed)}`, {
      cure: 'run the command again: what was measured is kept',
    });
  }

  async #make(planned: PlannedRun, signal: AbortSignal): Promise<RunResult> {
    const key = keyOf(planned);
    const kept = await this.#kept(key);
    if (kept !== null) return kept;
    const task = (await readCases(planned.cases))?.tasks.find((one) => one.key === planned.task);
    if (task === undefined) throw new PithError('not_found', 'its case has changed meanwhile', { cure: 'run the command again' });
    const { context } = this;
    const ports = {
      places: context.use(Places),
      trials: stateFolder(context.dataDirectory, 'trials'),
      config: context.config,
      now: () => context.clock.now(),
    };
    const result = await runTask({ ...planned, task }, ports, signal);
    await this.store.keep(key, result, context.clock.now());
    return result;
  }

  async #kept(key: RunKey): Promise<RunResult | null> {
    return (await this.store.of(key, key.repetition)).get(key.repetition) ?? null;
  }

  #sweep(): void {
    for (const folder of [this.#folders, stateFolder(this.context.dataDirectory, 'trials')])
      for (const name of folder.list()) {
        try {
          const { mtimeMs } = lstatSync(path.join(folder.path, name));
          if (this.context.clock.now() - mtimeMs > DAY_MS) folder.remove(name);
        } catch (error) {
          if (codeOf(error, '') !== 'ENOENT') throw error; // another process swept it
        }
      }
  }
}

function keyOf({ task, side, model, agent, repetition }: PlannedRun): RunKey {
  return { task, side, model, agent, repetition };
}
