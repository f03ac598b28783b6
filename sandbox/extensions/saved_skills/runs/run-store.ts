import { type ExtensionContext, type Job, type JobInfo, PithError } from 'pith';
import { exactly, type Queries, type Write } from '@pith/database-queries';
import type { RunRow, Tables } from '../store/tables.ts';
import type { LaneRules } from './lanes.ts';
import { hasEnded, runOf, type Run, type RunState, RunSeal } from './run.ts';

const RUNS = 'saved_skills__runs';
const STEPS = 'saved_skills__steps';
/** An older Pith planned a delivery here. */
const UNPLANNED = `UPDATE ${RUNS} SET deliver_at = NULL WHERE id = ? AND deliver_at = ? AND delivery = 'waiting'`;
const OPEN: readonly RunState[] = ['queued', 'running', 'waiting'];

type Builder = Parameters<Parameters<Queries<Tables>['write']>[0]>[0];
type Jobs = Pick<ExtensionContext['jobs'], 'statement' | 'guard' | 'get' | 'cancel' | 'resume'>;
/** An attempt: its writes reject `lease_lost` once another process has its job. */
export type Held = Pick<Job, 'id' | 'fence'>;

/** What is known of a run before it waits. */
export type NewRun = Pick<
  RunRow,
  | ('id' | 'skill_id' | 'skill' | 'version_id' | 'version' | 'pinned' | 'user_id' | 'acts_as' | 'cause' | 'inputs' | 'origin')
  | ('parent_id' | 'depth' | 'lane' | 'priority' | 'preemptible')
>;

/** How a run ended. */
export interface RunEnd {
  readonly state: RunState;
  readonly output: string | null;
  readonly error: { readonly code: string; readonly message: string; readonly retryAfterMs?: number } | null;
}

/** How far it has come. */
export type Progress = Partial<Pick<RunRow, 'steps' | 'tool_calls' | 'input_tokens' | 'output_tokens' | 'status_line' | 'extensions'>>;

/** Characters of what a step says. */
export const MOST_SAID = 500;

/** One thing that a run did: a note of its job. */
export interface Step {
  readonly what: string;
  /** The id of the call that it is; null: it is what came of one. */
  readonly call: string | null;
}

/** Runs as they are kept. Each has a job, by which it gets its slot in its lane; what an attempt writes is guarded by the job's fence. */
export class RunStore {
  constructor(
    private readonly queries: Queries<Tables>,
    private readonly clock: { now(): number },
    private readonly jobs: Jobs,
    readonly seal = new RunSeal(() => null),
  ) {}

  async byId(id: string): Promise<Run | null> {
    const row = await this.queries.first((db) => db.selectFrom(RUNS).selectAll().where('id', '=', id));
    return row === null ? null : this.seal.opened(runOf(row));
  }

  /** Newest first. `userId`: only what this user asked for, or what runs as them. */
  async list(asked: {
    readonly limit: number;
    readonly state?: RunState;
    /** Only those that have not ended. */
    readonly isOpen?: boolean;
    readonly skillId?: string;
    readonly userId?: string;
    /** The id of the run that they follow, there or not. */
    readonly after?: string;
  }): Promise<readonly Run[]> {
    const { limit, state, isOpen = false, skillId, userId, after } = asked;
    const rows = await this.queries.all((db) => {
      const newest = db.selectFrom(RUNS).selectAll().orderBy('id', 'desc').limit(limit);
      const every = after === undefined ? newest : newest.where('id', '<', after);
      const all = userId === undefined ? every : every.where((on) => on.or([on('user_id', '=', userId), on('acts_as', '=', userId)]));
      const ofSkill = skillId === undefined ? all : all.where('skill_id', '=', skillId);
      const open = isOpen ? ofSkill.where('state', 'in', OPEN) : ofSkill;
      return state === undefined ? open : open.where('state', '=', state);
    });
    return Promise.all(rows.map((row) => this.seal.opened(runOf(row))));
  }

  /** Runs that have or wait for a slot, by lane. `userId`: only what this user asked for, or what runs as them. */
  async openByLane(userId?: string): Promise<ReadonlyMap<string, { readonly running: number; readonly queued: number }>> {
    const rows = await this.queries.all((db) => {
      const open = db
        .selectFrom(RUNS)
        .select(({ fn }) => ['lane', 'state', fn.countAll<number>().as('count')])
        .where('state', 'in', ['queued', 'running'])
        .where('parent_id', 'is', null)
        .groupBy(['lane', 'state']);
      return userId === undefined ? open : open.where((on) => on.or([on('user_id', '=', userId), on('acts_as', '=', userId)]));
    });
    const lanes = new Map<string, { running: number; queued: number }>();
    for (const { lane, state, count } of rows) {
      const counts = lanes.get(lane) ?? { running: 0, queued: 0 };
      counts[state as 'running' | 'queued'] = Number(count);
      lanes.set(lane, counts);
    }
    return lanes;
  }

  /** Ids of the runs that one has composed so far. */
  async composedBy(parentId: string): Promise<readonly string[]> {
    const rows = await this.queries.all((db) => db.selectFrom(RUNS).select('id').where('parent_id', '=', parentId));
    return rows.map(({ id }) => id);
  }

  /** Oldest first: the last 200 for as long as its job is kept. Of an older Pith they are rows. */
  async steps({ id, job }: Pick<Run, 'id' | 'job'>): Promise<readonly (Step & { readonly at: number })[]> {
    const rows = await this.queries.all((db) =>
      db.selectFrom(STEPS).select(['at', 'what', 'call']).where('run_id', '=', id).orderBy('number'),
    );
    const notes = (job === null ? null : await this.jobs.get(job))?.notes ?? [];
    return [...rows, ...notes.map(({ at, data }) => ({ ...(data as unknown as Step), at }))];
  }

  /**
   * Queues a run, with `more` in the same transaction. Resolves false where a run of that id is there already; rejects `limit_reached` where
   * too many wait.
   */
  async arrive(
    run: NewRun,
    { mostQueued }: Pick<LaneRules, 'mostQueued'> = {},
    more: (db: Builder) => readonly Write[] = () => [],
  ): Promise<boolean> {
    if ((await this.byId(run.id)) !== null) return false;
    if (mostQueued !== undefined && run.parent_id === null) await this.#requireRoom(run.lane, mostQueued);
    const job = await this.#jobOf(run);
    try {
      await this.queries.write((db) => [
        db.insertInto(RUNS).values({ ...EMPTY, ...run, state: 'queued', queued_at: this.clock.now(), job: job.job }),
        job,
        ...more(db),
      ]);
    } catch (error) {
      if ((await this.byId(run.id)) === null) throw error;
      return false; // another process was faster
    }
    return true;
  }

  /** A composed run is inside the job of its parent; any other has a place in its lane. */
  async #jobOf({ id, parent_id: parentId, lane, user_id: owner, priority, preemptible }: NewRun) {
    const parent = parentId === null ? null : await this.byId(parentId);
    const place = parent?.job ? { inside: parent.job } : { lane, preemptible: preemptible === 1 };
    return this.jobs.statement('run', { run: id }, { ...place, unique: id, owner, priority });
  }

  async #requireRoom(lane: string, most: number): Promise<void> {
    const row = await this.queries.first((db) =>
      db
        .selectFrom(RUNS)
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('lane', '=', lane)
        .where('state', '=', 'queued')
        .where('parent_id', 'is', null),
    );
    if (Number(row?.count ?? 0) < most) return;
    throw new PithError('limit_reached', `no more runs may wait in this lane than ${most}`, {
      cure: 'try later, or cancel some: pith runs list --state queued',
      retryable: true,
    });
  }

  /** The run as an attempt begins it; null: it has ended. */
  async begin(id: string, by: Held): Promise<Run | null> {
    const before = await this.byId(id);
    if (before === null || hasEnded(before)) return null;
    const set = { state: 'running', attempt: before.attempt + 1, started_at: before.startedAt ?? this.clock.now() } as const;
    await this.#change(id, by, (rows) => rows.set(set));
    return { ...before, state: set.state, attempt: set.attempt, startedAt: set.started_at };
  }

  /** Writes how far it has come. */
  async progress(id: string, by: Held, progress: Progress): Promise<void> {
    if (Object.keys(progress).length > 0) await this.#change(id, by, (rows) => rows.set(progress));
  }

  /** Ends a run; `delivers`: its result goes somewhere. */
  async finish(id: string, by: Held, end: RunEnd, delivers: boolean): Promise<void> {
    const set = { ...ended(end, this.clock.now()), delivery: delivers ? 'waiting' : 'none' };
    await this.#change(id, by, (rows) => rows.set(set), delivers ? [this.#delivery(id)] : []);
  }

  /** Its attempt ends and the run does not: it waits for a person, or for another process. */
  async pause(id: string, by: Held, state: 'waiting' | 'queued'): Promise<void> {
    await this.#change(id, by, (rows) => rows.set({ state }));
  }

  /** A question of it was answered: it waits for a slot again. */
  async resume(id: string): Promise<void> {
    const job = (await this.byId(id))?.job ?? null;
    if (job === null) return;
    await this.queries.write((db) => [db.updateTable(RUNS).set({ state: 'queued' }).where('id', '=', id).where('state', '=', 'waiting')]);
    await this.jobs.resume(job);
  }

  /** Ends a run that waits, and asks whoever has it to end one that runs. False: it had ended. */
  async cancel(run: Pick<Run, 'id' | 'job'>): Promise<boolean> {
    const isAsked = run.job !== null && (await this.jobs.cancel(run.job));
    await this.end(run);
    return isAsked;
  }

  /** Ends the row of a run whose job has ended otherwise than by its handler. */
  async end({ id, job }: Pick<Run, 'id' | 'job'>): Promise<Run> {
    const info = job === null ? null : await this.jobs.get(job);
    if (info !== null && info.times.ended !== null) await this.endedBy(id, info);
    return this.known(id);
  }

  /** Rejects `not_found`. */
  async known(id: string): Promise<Run> {
    const run = await this.byId(id);
    if (run === null) throw new PithError('not_found', `the run ${id} is gone`, { cure: 'run it again' });
    return run;
  }

  async endedBy(id: string, { id: job, state, error }: JobInfo): Promise<void> {
    const run = await this.byId(id);
    if (run === null || run.job !== job || hasEnded(run)) return;
    const isPreempted = error?.code === 'preempted';
    const why = run.parentId !== null ? INTERRUPTED : isPreempted ? PREEMPTED : null;
    const end =
      state === 'dead' ? ({ state: 'error', error } as const) : ({ state: isPreempted ? 'preempted' : 'cancelled', error: why } as const);
    const set = ended({ output: null, ...end }, this.clock.now());
    await this.queries.write((db) => [db.updateTable(RUNS).set(set).where('id', '=', id).where('state', 'in', OPEN)]);
  }

  /** A run whose result is to be delivered, also where that had failed; null: it was delivered, or goes nowhere. */
  async delivers(id: string, by: Held): Promise<Run | null> {
    const run = await this.byId(id);
    if (run?.delivery !== 'failed') return run?.delivery === 'waiting' ? run : null;
    const again = { delivery: 'waiting' } as const;
    await this.queries.write((db) => [
      this.jobs.guard(by),
      db.updateTable(RUNS).set(again).where('id', '=', id).where('delivery', '=', 'failed'),
    ]);
    return { ...run, ...again };
  }

  /** What came of an attempt at a delivery. */
  async delivering(id: string, by: Held, set: Partial<Pick<RunRow, 'delivery' | 'delivery_error' | 'parts_delivered'>>): Promise<void> {
    await this.queries.write((db) => [
      this.jobs.guard(by),
      db.updateTable(RUNS).set(set).where('id', '=', id).where('delivery', '=', 'waiting'),
    ]);
  }

  /** Its delivery is not tried again. */
  async undelivered(id: string, error: string): Promise<void> {
    const set = { delivery: 'failed', delivery_error: error.slice(0, 2000) };
    await this.queries.write((db) => [db.updateTable(RUNS).set(set).where('id', '=', id).where('delivery', '=', 'waiting')]);
  }

  /** Gives a run of an older Pith its job; one whose parent has none ends. Rejects `write_conflict` where it is in another state by now. */
  async adopt({ id, state, attempt }: Pick<RunRow, 'id' | 'state' | 'attempt'>): Promise<void> {
    const row = await this.queries.first((db) => db.selectFrom(RUNS).selectAll().where('id', '=', id));
    if (row === null) return;
    const parent = row.parent_id === null ? null : await this.byId(row.parent_id);
    const isOrphan = row.parent_id !== null && (parent === null || parent.job === null || hasEnded(parent));
    const job = await this.#jobOf(row);
    const set = isOrphan
      ? ended({ state: 'cancelled', output: null, error: INTERRUPTED }, this.clock.now())
      : { job: job.job, state: row.state === 'running' ? 'queued' : row.state };
    const unchanged = (db: Builder) => rowsOf(db, id).where('job', 'is', null).where('state', '=', state).where('attempt', '=', attempt);
    await this.queries.write((db) => [exactly(1, unchanged(db).set(set)), ...(isOrphan ? [] : [job])]);
  }

  async adoptDelivery(id: string, at: number): Promise<void> {
    await this.queries.write(() => [{ sql: UNPLANNED, values: [id, at], changes: 1 }, this.#delivery(id)]);
  }

  #delivery(id: string) {
    return this.jobs.statement('deliver', { run: id }, { unique: id });
  }

  /** Changes an open run by its attempt. */
  async #change(id: string, by: Held, change: (rows: ReturnType<typeof rowsOf>) => Write, more: readonly Write[] = []): Promise<void> {
    await this.queries.write((db) => [this.jobs.guard(by), change(rowsOf(db, id)), ...more]);
  }
}

function rowsOf(db: Builder, id: string) {
  return db.updateTable(RUNS).where('id', '=', id).where('state', 'in', OPEN);
}

export const PREEMPTED = { code: 'preempted', message: 'a more urgent run took its place' };
export const INTERRUPTED = { code: 'interrupted', message: 'the run that composed it has ended' };

/** What every ended run has. */
function ended({ state, output, error }: RunEnd, now: number) {
  return {
    state,
    output,
    error_code: error?.code ?? null,
    error_message: error?.message.slice(0, 4000) ?? null,
    ended_at: now,
  };
}

const EMPTY = {
  attempt: 0,
  cancel_asked: 0,
  steps: 0,
  tool_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  delivery: 'none',
  delivery_attempts: 0,
  parts_delivered: 0,
} as const;
