import { KeyedQueue } from '@pith/promises';
import { codeOf, type ExtensionContext, type Job } from 'pith';
import type { Config } from '../config.ts';
import type { Library } from '../library/library.ts';
import { hasEnded, type OfRun, type Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { execute } from './execution.ts';

/** While the database takes no changes. */
const PAUSE_MS = 5_000;

/** Executes runs whose jobs this process has. */
export class Runner {
  readonly #held = new Map<string, { readonly run: Run; readonly job: Job<unknown>; readonly signal: AbortSignal }>();
  readonly #turns = new KeyedQueue();

  constructor(
    readonly context: ExtensionContext<Config>,
    readonly library: Library,
    readonly runs: RunStore,
  ) {}

  /** One attempt. */
  async work(job: Job<OfRun>, signal: AbortSignal) {
    const { jobs, clock } = this.context;
    try {
      if ((await this.#execute(job, signal)) === 'waiting') return jobs.wait({ resume: true });
    } catch (error) {
      // A full disk: what was not written is as it was, and is done when it can be.
      if (codeOf(error, '') === 'database_failed') return jobs.again(clock.now() + PAUSE_MS);
      throw error;
    }
  }

  async #execute(job: Job<OfRun>, signal: AbortSignal) {
    const run = await this.runs.begin(job.payload.run, job);
    if (run === null) return null;
    const held = { run, job, signal };
    this.#held.set(run.id, held);
    try {
      return await execute(this, { run, job }, signal);
    } finally {
      if (this.#held.get(run.id) === held) this.#held.delete(run.id);
    }
  }

  /** The attempt by which this process has a run; null: it has not. */
  held(runId: string): Run | null {
    const held = this.#held.get(runId);
    return held === undefined || held.signal.aborted ? null : held.run;
  }

  /** Says in one line what a run that this process has does now. */
  async status({ id }: Run, text: string): Promise<void> {
    const held = this.#held.get(id);
    if (held !== undefined) await this.runs.progress(id, held.job, { status_line: text });
  }

  /** Does `work` after what was asked for with the same `key` before, unless `signal` has aborted by then. */
  inTurn<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#turns.run(key, () => {
      signal.throwIfAborted();
      return work();
    });
  }

  /**
   * The run when it has ended, or waits for a person; a process in which no service runs, such as a chat of one message, serves its lane
   * meanwhile. An abort ends the run. `show`: called with each change of it.
   */
  async settled(run: Run, signal: AbortSignal, show: (run: Run) => Promise<void> = async () => undefined): Promise<Run> {
    const { runs } = this;
    const { jobs } = this.context;
    if (run.job === null) return run;
    const over = new AbortController();
    const isServed = run.parentId === null; // else with the lane of the run above
    const serving = isServed ? jobs.finished(run.job, AbortSignal.any([signal, over.signal])).catch(() => undefined) : undefined; // the watch says why
    let now = run;
    try {
      for await (const { times } of jobs.watch(run.job, signal)) {
        now = (await runs.byId(run.id)) ?? now;
        await show(now);
        if (hasEnded(now) || now.state === 'waiting') return now;
        if (times.ended !== null) return await runs.end(now);
        signal.throwIfAborted();
      }
      return now;
    } catch (error) {
      const isLost = run.parentId !== null && codeOf(this.#held.get(run.parentId)?.signal.reason, '') === 'lease_lost';
      if (signal.aborted && !isLost) await runs.cancel(run);
      throw error;
    } finally {
      over.abort();
      await serving;
    }
  }
}
