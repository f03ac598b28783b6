import { KeyedQueue } from '@pith/promises';
import { codeOf, PithError } from 'pith';
import { exactly, type Queries, type Write } from '@pith/database-queries';
import type { RunRow, Tables } from '../store/tables.ts';
import { nextClaim, victimOf, type Holding, type Lane, type Waiting } from './lanes.ts';
import { runOf, type Run, type RunState, RunSeal } from './run.ts';

const RUNS = 'saved_skills__runs';
const STEPS = 'saved_skills__steps';
const LANES = 'saved_skills__lanes';
const SERVED = 'saved_skills__served';

type Builder = Parameters<Parameters<Queries<Tables>['write']>[0]>[0];

/** Slots of a lane, and how old a run must be before it gives its slot away. */
export interface LaneRules {
  readonly slots: number;
  readonly preemptionMs: number;
  /** More do not wait. Absent: any number. */
  readonly mostQueued?: number;
}

/** A run that this process has: every write names the attempt, and changes nothing once somebody else has it. */
export interface Held {
  readonly id: string;
  readonly attempt: number;
}

/** One attempt to deliver the result of the run `id`. */
export interface Delivery {
  readonly id: string;
  readonly attempt: number;
}

/** Who takes a run, and for how long unless it is renewed. */
export interface Claimant {
  readonly holder: string;
  readonly leaseMs: number;
}

/** What is known of a run before it waits. */
export type NewRun = Omit<RunRow, keyof typeof EMPTY | 'state' | 'queued_at'>;

/** How a run ended. */
export interface RunEnd {
  readonly state: RunState;
  readonly output: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** How far it has come. */
export type Progress = Partial<Pick<RunRow, 'steps' | 'tool_calls' | 'input_tokens' | 'output_tokens' | 'status_line' | 'extensions'>>;

/** Characters of what a step says. */
export const MOST_SAID = 500;

/** The `number`th thing that an attempt does. */
export interface Step {
  readonly number: number;
  readonly what: string;
  readonly call: string | null;
}

export type StopReason = 'lost' | 'cancelled' | 'preempted';

/** What is done with a lane at one of its turns, after a write that `failed`; null: there was none. */
type Act<T> = (
  turn: number,
  failed: unknown,
) => Promise<{ readonly writes: ((db: Builder) => readonly Write[]) | null; readonly value: T }>;

/** Others cannot be faster so often: something else is wrong then. */
const MOST_ATTEMPTS = 500;
/** Steps of one attempt. */
const MOST_STEPS = 100_000;

/** Runs and their lanes. A claim and an arrival are one transaction each under the lane's row, so that any number of processes share the slots. */
export class RunStore {
  /** What this process does with each lane, one after the other: side by side, one would succeed and all others look again. */
  readonly #lanes = new KeyedQueue();

  constructor(
    private readonly queries: Queries<Tables>,
    private readonly clock: { now(): number },
    private readonly seal = new RunSeal(() => null),
  ) {}

  async byId(id: string): Promise<Run | null> {
    const row = await this.queries.first((db) => db.selectFrom(RUNS).selectAll().where('id', '=', id));
    return row === null ? null : this.seal.opened(runOf(row));
  }

  /** Newest first. `userId`: only what this user asked for, or what runs as them. */
  async list(asked: {
    readonly limit: number;
    readonly state?: RunState;
    readonly skillId?: string;
    readonly userId?: string;
  }): Promise<readonly Run[]> {
    const { limit, state, skillId, userId } = asked;
    const rows = await this.queries.all((db) => {
      const every = db.selectFrom(RUNS).selectAll().orderBy('id', 'desc').limit(limit);
      const all = userId === undefined ? every : every.where((on) => on.or([on('user_id', '=', userId), on('acts_as', '=', userId)]));
      const ofSkill = skillId === undefined ? all : all.where('skill_id', '=', skillId);
      return state === undefined ? ofSkill : ofSkill.where('state', '=', state);
    });
    return Promise.all(rows.map((row) => this.seal.opened(runOf(row))));
  }

  /** Ids of the runs that one has composed so far. */
  async composedBy(parentId: string): Promise<readonly string[]> {
    const rows = await this.queries.all((db) => db.selectFrom(RUNS).select('id').where('parent_id', '=', parentId));
    return rows.map(({ id }) => id);
  }

  async steps(id: string): Promise<readonly { readonly at: number; readonly what: string; readonly call: string | null }[]> {
    return this.queries.all((db) => db.selectFrom(STEPS).select(['at', 'what', 'call']).where('run_id', '=', id).orderBy('number'));
  }

  /** Lanes in which something waits or runs. */
  async busyLanes(): Promise<readonly string[]> {
    const rows = await this.queries.all((db) =>
      db
        .selectFrom(RUNS)
        .select('lane')
        .distinct()
        .where('state', 'in', ['queued', 'running'])
        .where('parent_id', 'is', null)
        .orderBy('lane'),
    );
    return rows.map(({ lane }) => lane);
  }

  /**
   * Queues a run, with `more` in the same transaction. Where its lane is full and a less urgent run may be ended for it, that one is asked
   * to end and the newcomer is promised its slot. Resolves false where a run of that id is there already; rejects `limit_reached` where too many
   * wait.
   */
  async arrive(run: NewRun, rules: LaneRules, more: (db: Builder) => readonly Write[] = () => []): Promise<boolean> {
    let before = -1;
    return this.#underLock(run.lane, async (turn, failed) => {
      if (turn === before) throw failed; // nobody else was in the lane: what does not fit any more is in `more`
      before = turn;
      if ((await this.byId(run.id)) !== null) return { writes: null, value: false };
      await this.#requireRoom(run.lane, rules);
      const now = this.clock.now();
      const victim = victimOf(await this.#laneOf(run.lane, rules.slots), run.priority, { now, leastMs: rules.preemptionMs });
      return {
        value: true,
        writes: (db) => [
          db.insertInto(RUNS).values({ ...EMPTY, ...run, state: 'queued', queued_at: now, takes_over: victim?.id ?? null }),
          ...(victim === null ? [] : [exactly(1, this.#ofAttempt(db, victim).set({ preempted_at: now }))]),
          ...more(db),
        ],
      };
    });
  }

  async #requireRoom(lane: string, { mostQueued }: LaneRules): Promise<void> {
    if (mostQueued === undefined) return;
    const row = await this.queries.first((db) =>
      db
        .selectFrom(RUNS)
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('lane', '=', lane)
        .where('state', '=', 'queued')
        .where('parent_id', 'is', null),
    );
    if (Number(row?.count ?? 0) < mostQueued) return;
    throw new PithError('limit_reached', `no more runs may wait in this lane than ${mostQueued}`, {
      cure: 'try later, or cancel some: pith runs list --state queued',
      retryable: true,
    });
  }

  /** A run that begins in the slot of its parent: it is taken at once. null: a run of that id has ended, or somebody has it. */
  async beginInside(run: NewRun, { holder, leaseMs }: Claimant): Promise<Run | null> {
    const now = this.clock.now();
    const lease = { holder, lease_until: now + leaseMs, state: 'running' };
    const before = await this.byId(run.id);
    if (before === null) {
      const begun = { ...EMPTY, ...run, ...lease, attempt: 1, queued_at: now, started_at: now };
      await this.queries.write((db) => [db.insertInto(RUNS).values(begun)]);
      return this.byId(run.id);
    }
    const [taken] = await this.queries.write((db) => [
      this.#ofAttempt(db, before)
        .set({ ...lease, attempt: before.attempt + 1 })
        .where('state', 'in', ['queued', 'running', 'waiting'])
        .where((on) => on.or([on('lease_until', '<=', now), on('lease_until', 'is', null)])),
    ]);
    return taken === 1 ? this.byId(run.id) : null;
  }

  /** Takes the next run of a lane, or ends one: it had to give its slot away, or its record is damaged. null: there is nothing to do. */
  async claim(
    lane: string,
    rules: LaneRules,
    { holder, leaseMs }: Claimant,
  ): Promise<{ readonly isOver: boolean; readonly run: Run } | null> {
    return this.#underLock(lane, async (turn) => {
      const now = this.clock.now();
      const found = await this.#laneOf(lane, rules.slots);
      if (found.holding.some(({ leaseUntil }) => leaseUntil > now + 2 * leaseMs)) await this.#shortenLeases(now + leaseMs);
      const claim = nextClaim(found, now);
      const before = claim === null ? null : await this.byId(claim.run.id);
      if (claim === null || before === null) return { writes: null, value: null };
      const { kind } = claim;
      const startedAt = before.startedAt ?? now;
      const attempt = before.attempt + 1;
      const end: RunEnd | null =
        kind === 'end preempted'
          ? { state: 'preempted', output: null, error: PREEMPTED }
          : before.isDamaged
            ? { state: 'error', output: null, error: before.error }
            : null;
      const set =
        end === null
          ? { state: 'running' as const, attempt, holder, lease_until: now + leaseMs, takes_over: null, started_at: startedAt }
          : { ...ended(end, now), attempt };
      const served = kind === 'begin' && before.startedAt === null ? { lane, user_id: before.userId, turn: turn + 1 } : null;
      return {
        value: { isOver: end !== null, run: { ...before, state: set.state, attempt, startedAt } },
        writes: (db) => [
          exactly(
            1,
            this.#ofAttempt(db, { id: before.id, attempt: claim.run.attempt })
              .set(set)
              .where('state', '=', kind === 'begin' ? 'queued' : 'running'),
          ),
          ...(served === null
            ? []
            : [
                db
                  .insertInto(SERVED)
                  .values(served)
                  .onConflict((conflict) => conflict.columns(['lane', 'user_id']).doUpdateSet({ turn: turn + 1 })),
              ]),
        ],
      };
    });
  }

  /** Renews what this process has, and says which of it must be let go. */
  async renew(held: readonly Held[], leaseMs: number): Promise<ReadonlyMap<string, StopReason>> {
    if (held.length === 0) return new Map();
    const until = this.clock.now() + leaseMs;
    await this.queries.write((db) =>
      held.map((each) => this.#ofAttempt(db, each).set({ lease_until: until }).where('state', '=', 'running')),
    );
    const ids = held.map(({ id }) => id);
    const rows = await this.queries.all((db) =>
      db.selectFrom(RUNS).select(['id', 'attempt', 'state', 'cancel_asked', 'preempted_at']).where('id', 'in', ids),
    );
    const known = new Map(rows.map((row) => [row.id, row]));
    return new Map(
      held.flatMap(({ id, attempt }): readonly (readonly [string, StopReason])[] => {
        const row = known.get(id);
        if (row === undefined || row.attempt !== attempt || row.state !== 'running') return [[id, 'lost']];
        if (row.cancel_asked === 1) return [[id, 'cancelled']];
        return row.preempted_at === null ? [] : [[id, 'preempted']];
      }),
    );
  }

  /** Writes how far it has come, and a step. False: somebody else has it by now, and nothing was written. */
  async progress(held: Held, progress: Progress, step: Step | null = null): Promise<boolean> {
    const now = this.clock.now();
    const [changed] = await this.queries.write((db) => [
      this.#ofAttempt(db, held)
        .set({ ...progress, attempt: held.attempt })
        .where('state', '=', 'running'),
      ...(step === null
        ? []
        : [
            db
              .insertInto(STEPS)
              .columns(['run_id', 'number', 'at', 'what', 'call'])
              .expression((on) =>
                on
                  .selectFrom(RUNS)
                  .select((each) => [
                    'id',
                    each.val(held.attempt * MOST_STEPS + step.number).as('number'),
                    each.val(now).as('at'),
                    each.val(step.what.slice(0, MOST_SAID)).as('what'),
                    each.val(step.call).as('call'),
                  ])
                  .where('id', '=', held.id)
                  .where('attempt', '=', held.attempt)
                  .where('state', '=', 'running'),
              ),
          ]),
    ]);
    return changed === 1;
  }

  /** Ends a run. False: somebody else has it by now, and nothing was written. */
  async finish(held: Held, end: RunEnd, delivers: boolean): Promise<boolean> {
    const now = this.clock.now();
    const set = { ...ended(end, now), delivery: delivers ? 'waiting' : 'none', deliver_at: delivers ? now : null };
    const [changed] = await this.queries.write((db) => [this.#ofAttempt(db, held).set(set).where('state', '=', 'running')]);
    return changed === 1;
  }

  /** Gives its slot back without ending it: it waits for a person, or for another process. What it was asked meanwhile counts. */
  async giveBack(held: Held, state: 'waiting' | 'queued'): Promise<void> {
    const back = { holder: null, lease_until: null, preempted_at: null, answered: 0 };
    const cancelled = ended({ state: 'cancelled', output: null, error: null }, this.clock.now());
    await this.queries.write((db) => {
      const running = () => this.#ofAttempt(db, held).where('state', '=', 'running');
      return [
        running().set(cancelled).where('cancel_asked', '=', 1),
        running()
          .set({ ...back, state: 'queued' })
          .where('answered', '=', 1),
        running().set({ ...back, state }),
      ];
    });
  }

  /** A question of it was answered: it waits for a slot again. One that runs finds that when it begins to wait. */
  async resume(id: string): Promise<boolean> {
    const [changed = 0] = await this.queries.write((db) => [
      db.updateTable(RUNS).set({ state: 'queued' }).where('id', '=', id).where('state', '=', 'waiting'),
      db.updateTable(RUNS).set({ answered: 1 }).where('id', '=', id).where('state', '=', 'running'),
    ]);
    return changed === 1;
  }

  /** Ends a run that waits, and asks whoever has it to end one that runs. False: it had ended. */
  async cancel(id: string): Promise<boolean> {
    const set = ended({ state: 'cancelled', output: null, error: null }, this.clock.now());
    const changed = await this.queries.write((db) => [
      db.updateTable(RUNS).set(set).where('id', '=', id).where('state', 'in', ['queued', 'waiting']),
      db.updateTable(RUNS).set({ cancel_asked: 1 }).where('id', '=', id).where('state', '=', 'running'),
    ]);
    return changed.some((count) => count > 0);
  }

  /** Ends what was composed by runs that have ended, and whose processes are gone. */
  async endOrphans(): Promise<void> {
    const now = this.clock.now();
    const set = ended(
      { state: 'cancelled', output: null, error: { code: 'interrupted', message: 'the run that composed it has ended' } },
      now,
    );
    await this.queries.write((db) => [
      db
        .updateTable(RUNS)
        .set(set)
        .where('state', 'in', ['queued', 'running', 'waiting'])
        .where('parent_id', 'is not', null)
        .where((on) => on.or([on('lease_until', '<=', now), on('lease_until', 'is', null)]))
        .where('parent_id', 'not in', (on) =>
          on.selectFrom(`${RUNS} as parents`).select('parents.id').where('parents.state', 'in', ['queued', 'running', 'waiting']),
        ),
    ]);
  }

  /** Runs whose result is to be delivered now, oldest first: also where it would wait longer than `longestMs`, because the clock was set back. */
  async deliverable(longestMs: number): Promise<readonly Run[]> {
    const now = this.clock.now();
    const rows = await this.queries.all((db) =>
      db
        .selectFrom(RUNS)
        .selectAll()
        .where('delivery', '=', 'waiting')
        .where((on) => on.or([on('deliver_at', '<=', now), on('deliver_at', '>', now + longestMs)]))
        .orderBy('id')
        .limit(50),
    );
    return Promise.all(rows.map((row) => this.seal.opened(runOf(row))));
  }

  /** Takes a delivery for `forMs`: of several processes one delivers. null: another does. */
  async takeDelivery({ id, deliveryAttempts }: Run, forMs: number): Promise<Delivery | null> {
    const delivery = { id, attempt: deliveryAttempts + 1 };
    const [changed] = await this.queries.write((db) => [
      this.#ofDelivery(db, { id, attempt: deliveryAttempts }).set({
        delivery_attempts: delivery.attempt,
        deliver_at: this.clock.now() + forMs,
      }),
    ]);
    return changed === 1 ? delivery : null;
  }

  /** Its first `count` parts have arrived. Changes nothing once another process has taken the delivery. */
  async partsDelivered(delivery: Delivery, count: number): Promise<void> {
    await this.queries.write((db) => [this.#ofDelivery(db, delivery).set({ parts_delivered: count })]);
  }

  /** Changes nothing once another process has taken the delivery. */
  async delivered(delivery: Delivery): Promise<void> {
    await this.queries.write((db) => [
      this.#ofDelivery(db, delivery).set({ delivery: 'delivered', deliver_at: null, delivery_error: null }),
    ]);
  }

  /** `retryInMs` null: it is not tried again. Changes nothing once another process has taken the delivery. */
  async notDelivered(delivery: Delivery, error: string, retryInMs: number | null): Promise<void> {
    const next = retryInMs === null ? { delivery: 'failed', deliver_at: null } : { deliver_at: this.clock.now() + retryInMs };
    await this.queries.write((db) => [this.#ofDelivery(db, delivery).set({ ...next, delivery_error: error.slice(0, 2000) })]);
  }

  /** The clock was set back: no lease lasts longer than one that is taken now. Whoever has it renews it meanwhile. */
  async #shortenLeases(until: number): Promise<void> {
    await this.queries.write((db) => [
      db.updateTable(RUNS).set({ lease_until: until }).where('state', '=', 'running').where('lease_until', '>', until),
    ]);
  }

  async #laneOf(lane: string, slots: number): Promise<Lane> {
    const holding = await this.queries.all((db) =>
      db
        .selectFrom(RUNS)
        .select(['id', 'attempt', 'priority', 'preemptible', 'started_at', 'lease_until', 'preempted_at'])
        .where('lane', '=', lane)
        .where('state', '=', 'running')
        .where('parent_id', 'is', null)
        .orderBy('id'),
    );
    const waiting = await this.queries.all((db) =>
      db
        .selectFrom((from) =>
          from
            .selectFrom(RUNS)
            .select(['id', 'attempt', 'user_id', 'priority', 'takes_over'])
            .select((on) =>
              on.fn
                .agg<number>('row_number')
                .over((over) => over.partitionBy('user_id').orderBy('priority', 'desc').orderBy('id'))
                .as('place'),
            )
            .where('lane', '=', lane)
            .where('state', '=', 'queued')
            .where('parent_id', 'is', null)
            .as('ranked'),
        )
        .leftJoin(SERVED, (join) => join.onRef(`${SERVED}.user_id`, '=', 'ranked.user_id').on(`${SERVED}.lane`, '=', lane))
        .select(['ranked.id', 'ranked.attempt', 'ranked.user_id', 'ranked.priority', 'ranked.takes_over', `${SERVED}.turn`])
        .where((on) => on.or([on('ranked.place', '=', 1), on('ranked.takes_over', 'is not', null)]))
        .orderBy('ranked.id'),
    );
    return {
      slots,
      holding: holding.map((row): Holding => ({
        id: row.id,
        attempt: row.attempt,
        priority: row.priority,
        preemptible: row.preemptible === 1,
        startedAt: row.started_at ?? 0,
        leaseUntil: row.lease_until ?? 0,
        preemptedAt: row.preempted_at,
      })),
      waiting: waiting.map((row): Waiting => ({
        id: row.id,
        attempt: row.attempt,
        userId: row.user_id,
        priority: row.priority,
        takesOver: row.takes_over,
        servedAt: row.turn ?? 0,
      })),
    };
  }

  #underLock<T>(lane: string, act: Act<T>): Promise<T> {
    return this.#lanes.run(lane, () => this.#lookAndWrite(lane, act));
  }

  /** Looks at a lane and writes; where somebody else wrote meanwhile, looks again. */
  async #lookAndWrite<T>(lane: string, act: Act<T>): Promise<T> {
    let failed: unknown = null;
    for (let attempt = 1; ; attempt += 1) {
      const row = await this.queries.first((db) => db.selectFrom(LANES).select('turn').where('name', '=', lane));
      const turn = row?.turn ?? 0;
      const { writes, value } = await act(turn, failed);
      if (writes === null) return value;
      try {
        await this.queries.write((db) => [
          ...(row === null
            ? [
                db
                  .insertInto(LANES)
                  .values({ name: lane, turn: 0 })
                  .onConflict((conflict) => conflict.doNothing()),
              ]
            : []),
          exactly(
            1,
            db
              .updateTable(LANES)
              .set({ turn: turn + 1 })
              .where('name', '=', lane)
              .where('turn', '=', turn),
          ),
          ...writes(db),
        ]);
        return value;
      } catch (error) {
        if (codeOf(error, '') !== 'write_conflict' || attempt === MOST_ATTEMPTS) throw error;
        failed = error;
      }
    }
  }

  #ofDelivery(db: Builder, { id, attempt }: Delivery) {
    return db.updateTable(RUNS).where('id', '=', id).where('delivery', '=', 'waiting').where('delivery_attempts', '=', attempt);
  }

  #ofAttempt(db: Builder, { id, attempt }: Held) {
    return db.updateTable(RUNS).where('id', '=', id).where('attempt', '=', attempt);
  }
}

const PREEMPTED = { code: 'preempted', message: 'a more urgent run took its place' };

/** What every ended run has. */
function ended({ state, output, error }: RunEnd, now: number) {
  return {
    state,
    output,
    error_code: error?.code ?? null,
    error_message: error?.message.slice(0, 4000) ?? null,
    ended_at: now,
    holder: null,
    lease_until: null,
    takes_over: null,
  };
}

const EMPTY = {
  attempt: 0,
  holder: null,
  lease_until: null,
  started_at: null,
  ended_at: null,
  takes_over: null,
  preempted_at: null,
  cancel_asked: 0,
  answered: 0,
  steps: 0,
  tool_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  status_line: null,
  output: null,
  error_code: null,
  error_message: null,
  extensions: null,
  delivery: 'none',
  delivery_attempts: 0,
  deliver_at: null,
  delivery_error: null,
  parts_delivered: 0,
} as const;
