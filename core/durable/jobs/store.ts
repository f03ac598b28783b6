import { ulid } from 'ulid';
import { type Clock, PithError } from '../../contract/index.ts';
import type { LanePolicy } from '../../kernel/index.ts';
import type { Statement, Store } from '../../store/index.ts';
import type { Attempt, Claim, Claimed, Hold, JobDeclaration, JobFilter, JobStore, Outcome, ScheduleRow, StopReason, Tick } from './port.ts';
import { hasEnded, type JobRow, NEVER, type NewJob, PLAIN_JOB } from './row.ts';
import { byUrgency, type Except, JobRows } from './sqlite-rows.ts';
import { JOBS_SCHEMA } from './sqlite-schema.ts';
import {
  ALONE_FROM,
  cancelled,
  claimed,
  continued,
  created,
  due,
  GRACE_MS,
  LEASE_MS,
  lost,
  resumed,
  retried,
  settled,
} from './transitions.ts';

/** Rows that one claim moves on of each kind; the rest is moved by the next, which follows at once. */
const AT_ONCE = 200;
const HEADS_PER_OWNER = 3;
/** Ticks that catch up side by side. */
const MOST_LATE = 2;
const MOST_NOTES = 200;
const MOST_CHANGES = 1_000;
const TIDY_AT_ONCE = 200;
const DAY_MS = 86_400_000;
export const KEEP_MS = 30 * DAY_MS;
export const KEEP_DEAD_MS = 90 * DAY_MS;

/** The kernel's job that tells an extension that another of its jobs has ended otherwise than by its handler; its payload is the id. */
export const ENDED_SUFFIX = ' ended';

/** Jobs in `pith.db`. */
export interface SqliteJobStore extends JobStore {
  /** What others do with jobs in a write that they have begun. */
  within(statement: Statement): Pick<Work, 'rows' | 'insert' | 'settle' | 'guard' | 'resumeOnly' | 'forgetOnly'>;
  /** As `count`, at once. */
  countNow(filter: Omit<JobFilter, 'limit'>): number;
}

export function createJobStore(store: Store, clock: Pick<Clock, 'now'>, newId = (): string => ulid(clock.now())): SqliteJobStore {
  store.migrate('jobs', JOBS_SCHEMA);
  const rows = new JobRows(store, refuse);
  const within = (statement: Statement): Work => new Work(new JobRows(store, statement), clock.now(), newId);
  const writing = async <T>(change: (work: Work) => T): Promise<T> => {
    let result: { readonly value: T } | undefined;
    await store.write((statement) => void (result = { value: change(within(statement)) }));
    return (result as { readonly value: T }).value;
  };
  return {
    within,
    countNow: (filter) => rows.count(filter),
    insert: (job, policy) => writing((work) => work.insert(job, policy)),
    claim: (claim) => writing((work) => work.claim(claim)),
    isDue: async (claim) => isDue(rows, claim, clock.now()),
    renew: (held) => writing((work) => work.renew(held)),
    stops: async (held) => stopsOf(rows, held),
    settle: (attempt, outcome, keep) => writing((work) => work.settle(attempt, outcome, keep)),
    leave: (held) => writing((work) => held.forEach((attempt) => work.ofAttempt(attempt, (row) => work.save({ ...row, leaving: true })))),
    note: (attempt, data) =>
      writing((work) =>
        work.ofAttempt(attempt, (row) => {
          work.rows.addNote(row.id, work.now, data, MOST_NOTES);
          work.save({ ...row, lost: 0 });
        }),
      ),
    notes: async (id) => rows.notes(id).map(({ at, data }) => ({ at, data: JSON.parse(data) })),
    resume: (id, value) => writing((work) => work.change(id, (row) => resumed(row, value, work.now))),
    cancel: (id, message) => writing((work) => work.change(id, (row) => cancelled(row, { code: 'cancelled', message }, work.now))),
    retry: (id) => writing((work) => work.change(id, (row) => (work.mayRetry(row) ? retried(row, work.now) : null))),
    get: async (id) => rows.get(id),
    list: async (filter) => rows.list(filter),
    count: async (filter) => rows.count(filter),
    running: async (name) => rows.running(name).length,
    changesSince: async (number) => rows.changesSince(number, MOST_CHANGES),
    revision: async () => Number(store.get('PRAGMA data_version')?.['data_version']),
    markSeen: (ids) =>
      writing((work) => ids.forEach((id) => work.change(id, (row) => (row.state === 'dead' && !row.seen ? { ...row, seen: true } : null)))),
    hold: (hold) => writing((work) => work.rows.putHold(hold)),
    release: (kind, value) => writing((work) => work.rows.removeHold(kind, value)),
    holds: async () => currentHolds(rows, clock.now()),
    schedules: async () => rows.schedules(),
    putSchedule: (schedule) => writing((work) => work.rows.putSchedule(planned(schedule, scheduleIn(work.rows, schedule.id)))),
    removeSchedule: (id) => writing((work) => work.rows.removeSchedule(id)),
    tick: (tick) => writing((work) => work.tick(tick)),
    repairClock: (longestRetryMs) =>
      writing((work) => work.rows.shorten(work.now, { lease: work.now + LEASE_MS, retry: Math.min(work.now + longestRetryMs, NEVER) })),
    tidy: () => writing((work) => work.tidy()),
  };
}

function refuse(): never {
  throw new Error('jobs: a read wrote');
}

function isDue(rows: JobRows, { holder, jobs }: Claim, now: number): { readonly due: boolean; readonly next: number | null } {
  const next = nextOf(rows, holder, now);
  const hasReady = rows.readyNames().some((name) => jobs.has(name)); // of those that are not served here too: a claim tells them apart
  return { due: hasReady || (next ?? Infinity) <= now, next };
}

function scheduleIn(rows: JobRows, id: string): ScheduleRow | undefined {
  return rows.schedules().find((each) => each.id === id);
}

function planned(schedule: ScheduleRow, before: ScheduleRow | undefined): ScheduleRow {
  if (before === undefined || before.next === null || before.cron !== schedule.cron || before.zone !== schedule.zone) return schedule;
  return { ...schedule, next: before.next };
}

function nextOf(rows: JobRows, holder: string, now: number): number | null {
  const ends = currentHolds(rows, now).flatMap(({ until }) => until ?? []);
  const next = Math.min(rows.next(holder, GRACE_MS) ?? Infinity, ...ends);
  return next === Infinity ? null : next;
}

function currentHolds(rows: JobRows, now: number): readonly Hold[] {
  return rows.holds().filter(({ until }) => until === null || until > now);
}

function heldRow(rows: JobRows, { id, fence }: Attempt): JobRow | null {
  const row = rows.get(id);
  return row?.state === 'running' && row.fence === fence ? row : null;
}

function stopsOf<Held extends Attempt>(rows: JobRows, held: readonly Held[]): ReadonlyMap<Held, StopReason> {
  return new Map(
    held.flatMap((attempt): (readonly [Held, StopReason])[] => {
      const row = heldRow(rows, attempt);
      return row === null ? [[attempt, 'lost']] : row.stop ? [[attempt, row.stop.code]] : [];
    }),
  );
}

type LaneState = Parameters<LanePolicy['pick']>[0];

/** How an attempt ends that came to nothing in particular. */
export const DONE = { kind: 'done', result: 'null' } as const satisfies Outcome;

/** The one job of a name of the kernel that is open. */
const ONLY = 'only';

/** One transaction. */
class Work {
  readonly #number: () => number;
  /** How many more jobs it may end with others; the rest is left to claims. */
  #room = AT_ONCE;

  constructor(
    readonly rows: JobRows,
    readonly now: number,
    private readonly newId: () => string,
  ) {
    let number: number | undefined;
    this.#number = () => (number ??= rows.nextNumber());
  }

  insert({ onOpen, ...job }: NewJob, policy: LanePolicy | null, late = false): { readonly id: string; readonly added: boolean } {
    const open = job.unique === null ? null : this.rows.openUnique(job.name, job.unique);
    if (open !== null && !isReplaced(open, onOpen)) return { id: open.id, added: false };
    if (open === null && this.rows.get(job.id) !== null) return { id: job.id, added: false };
    const { id, number, parent, inside } = open ?? { ...job, number: this.rows.nextNumber() };
    const row = { ...created(job, number, this.now), id, parent, inside, late };
    this.save(row);
    if (this.#isOrphan(row)) this.change(id, (each) => cancelled(each, PARENT_ENDED, this.now));
    else if (policy !== null && row.lane !== null && !row.inside) this.#arrive(row, policy);
    return { id, added: true };
  }

  /** It would have been ended with its parent. */
  #isOrphan({ parent: id, inside }: JobRow): boolean {
    const parent = id === null ? null : this.rows.get(id);
    return inside ? parent === null || hasEnded(parent) : parent?.state === 'cancelled';
  }

  /** Not where another open job has its `unique`, nor in the slot of one that has ended. */
  mayRetry(row: JobRow): boolean {
    const { id, name, unique } = row;
    return !(row.inside && this.#isOrphan(row)) && (unique === null || (this.rows.openUnique(name, unique)?.id ?? id) === id);
  }

  /** False: it is gone, or `act` left it as it is. */
  change(id: string, act: (row: JobRow) => JobRow | null): boolean {
    const row = this.rows.get(id);
    const after = row && act(row);
    if (after) this.save(after);
    return Boolean(after);
  }

  settle(attempt: Attempt, outcome: Outcome, keep: boolean): boolean {
    return this.ofAttempt(attempt, (row) => {
      const after = settled(row, this.#isEndless(row, outcome) ? ENDLESS : outcome, this.now);
      if (after.state === 'done' && !keep) this.remove(after);
      else this.save(after);
    });
  }

  /** It would wait for jobs alone, one of which is itself or waits for it: in a wait of its own, or behind it in a sequence. */
  #isEndless({ id }: JobRow, outcome: Outcome): boolean {
    const seen = new Set(outcome.kind === 'wait' ? jobsAlone(outcome.wait) : []);
    for (const each of seen) {
      const row = this.rows.get(each);
      if (row === null || hasEnded(row)) continue;
      for (const next of row.state === 'suspended' ? jobsAlone(row.wait) : this.#before(row)) seen.add(next);
    }
    return seen.has(id);
  }

  #before({ name, sequence, state }: JobRow): readonly string[] {
    if (sequence === null || (state !== 'waiting' && state !== 'failed')) return [];
    const { first } = this.rows.sequence(name, sequence);
    return first === null ? [] : [first.id];
  }

  /** False: another process has it. */
  ofAttempt(attempt: Attempt, act: (row: JobRow) => void): boolean {
    const row = heldRow(this.rows, attempt);
    if (row !== null) act(row);
    return row !== null;
  }

  /** Throws `lease_lost` where another process has the job. */
  guard(attempt: Attempt): void {
    if (heldRow(this.rows, attempt) === null)
      throw new PithError('lease_lost', `job ${attempt.id}: another process has it`, { where: attempt.id, cure: 'end this attempt' });
  }

  /**
   * Has the one open job of a name of the kernel begin, or go on with what it waits for; makes it where there is none. Writes nothing where
   * it will do so anyway.
   */
  resumeOnly(name: string): void {
    if (this.rows.isExpected(name, ONLY)) return;
    const open = this.rows.openUnique(name, ONLY);
    if (open !== null) this.change(open.id, (row) => resumed(row, 'null', this.now));
    else this.insert({ ...PLAIN_JOB, id: this.newId(), name, payload: 'null', unique: ONLY, mostAttempts: NEVER }, null);
  }

  /** Removes the one open job of a name of the kernel. */
  forgetOnly(name: string): void {
    const open = this.rows.openUnique(name, ONLY);
    if (open !== null) this.rows.delete(open.id);
  }

  /** Writes a row, and what follows from its state. */
  save(row: JobRow): void {
    const before = this.rows.get(row.id);
    const ready = row.state === 'waiting' && row.sequence === null;
    this.rows.put({ ...row, changed: this.#number(), ready });
    for (const sequence of new Set([before?.sequence ?? null, row.sequence])) if (sequence !== null) this.#reorder(row.name, sequence);
    if (row.state === 'suspended' && before?.state !== 'suspended') this.#suspend(row);
    if (hasEnded(row) && !(before && hasEnded(before))) this.#ended(row);
  }

  /** Deletes a row that ended. */
  remove(row: JobRow): void {
    this.save(row);
    this.rows.delete(row.id);
  }

  /** The first of a sequence may start, unless another of it has begun. */
  #reorder(name: string, sequence: string): void {
    const { first, isBusy } = this.rows.sequence(name, sequence);
    const head = !isBusy && first?.state === 'waiting' ? first : null;
    const marked = this.rows.readyOfSequence(name, sequence);
    if (marked?.id === head?.id) return;
    if (marked) this.rows.put({ ...marked, ready: false });
    if (head) this.rows.put({ ...head, ready: true });
  }

  #suspend(row: JobRow): void {
    const open = (row.wait?.jobs ?? []).filter((id) => {
      const target = this.rows.get(id);
      return target !== null && !hasEnded(target);
    });
    this.rows.setWaits(row.id, open);
    if (row.wait?.jobs && open.length === 0) this.save(continued(row, BY_JOBS, this.now));
  }

  #ended(row: JobRow): void {
    this.#endChildren(row);
    for (const id of this.rows.endWaits(row.id))
      this.change(id, (waiter) => (waiter.state === 'suspended' ? continued(waiter, BY_JOBS, this.now) : null));
    if (row.tells && row.state !== 'done') this.insert(tellingOf(row, this.newId()), null);
  }

  /** All of one that was cancelled, otherwise those inside it. */
  #endChildren(row: JobRow): void {
    const children = this.rows.openChildren(row.id, row.state !== 'cancelled', this.#room + 1);
    const now = children.slice(0, Math.max(0, this.#room));
    this.#room -= now.length;
    for (const { id } of now) this.change(id, (each) => cancelled(each, PARENT_ENDED, this.now));
    const until = children.length > now.length ? this.now : null;
    if (until !== row.until) this.change(row.id, (each) => ({ ...each, until }));
  }

  claim(claim: Claim): Claimed {
    const { rows, now } = this;
    const { holder, jobs } = claim;
    for (const row of rows.overdue(now, holder, GRACE_MS, AT_ONCE)) this.#move(row);
    const holds = currentHolds(rows, now);
    const taken: JobRow[] = [];
    const unloaded: string[] = [];
    for (const name of rows.readyNames()) {
      const job = jobs.get(name);
      const isHeld = holds.some(({ kind, value }) => kind === 'name' && value === name);
      const most = claim.most - taken.length;
      if (isHeld || most <= 0 || job === undefined) continue;
      const found = this.#startable(job, { ...claim, most }, holds);
      if (found === null) unloaded.push(name);
      else for (const row of found) taken.push(...this.#take(row, holder));
    }
    return { taken, unloaded, next: nextOf(rows, holder, now) };
  }

  /** Another that has moved may have changed it. */
  #move({ id, state }: JobRow): void {
    const ending = hasEnded({ state }) ? this.rows.get(id) : null;
    if (ending !== null) return this.#endChildren(ending);
    this.change(id, (row) => (row.state !== state ? null : state === 'running' ? lost(row, this.now) : due(row, this.now)));
  }

  /** Nothing where it is about to end with its parent. */
  #take(row: JobRow, holder: string): readonly JobRow[] {
    const parent = row.parent === null ? null : this.rows.get(row.parent);
    if (parent !== null && hasEnded(parent) && parent.until !== null && this.#isOrphan(row)) return [];
    if (row.lane !== null && row.begun === null && !row.inside) this.rows.serve(row.name, row.lane, row.owner);
    this.save(claimed(row, holder, this.now));
    return [this.rows.get(row.id) as JobRow];
  }

  /** null: jobs wait in lanes, and there is no policy. */
  #startable(job: JobDeclaration, { only, policies, most }: Claim, holds: readonly Hold[]): readonly JobRow[] | null {
    const { rows } = this;
    const { name } = job;
    const isAsked = only === null || only.names.has(name);
    const running = rows.running(name);
    const except: Except = {
      lanes: valuesOf(holds, 'lane', name),
      owners: valuesOf(holds, 'owner', name),
      newerThan: job.version,
      late: rows.lateRunning() >= MOST_LATE,
    };
    const inside = rows.readyInside(name, except, most).filter((row) => this.#isServed(row, only));
    const isolated = rows.readyAlone(name, ALONE_FROM, except);
    if (running.some(({ lost: times }) => times >= ALONE_FROM)) return inside;
    if (isolated !== null && this.#isServed(isolated, only)) return [...inside, ...(running.length === 0 ? [isolated] : [])].slice(0, most);
    const capacity = Math.min(most - inside.length, job.concurrency - running.length);
    if (capacity <= 0) return inside;
    const lanes = job.lanes
      ? rows.readyLanes(name).filter((lane) => (isAsked || only.lanes.has(lane)) && !except.lanes.includes(lane))
      : [];
    const policy = policies.get(name);
    if (lanes.length > 0 && policy === undefined) return null;
    const inLanes = policy === undefined ? [] : lanes.flatMap((lane) => this.#pick({ name, lane }, policy, except));
    const others = isAsked ? this.#ready(job, except, capacity) : [];
    const found = [...inLanes, ...others].slice(0, capacity);
    const awaited = found.filter(({ id }) => only?.jobs.has(id)); // the others are for whoever goes on when these have ended
    return [...inside, ...(awaited.length > 0 ? awaited : found)];
  }

  /** Whoever serves a job serves those inside it. */
  #isServed(row: JobRow, only: Claim['only']): boolean {
    if (only === null || only.jobs.has(row.id) || only.names.has(row.name) || (row.lane !== null && only.lanes.has(row.lane))) return true;
    const parent = row.inside && row.parent !== null ? this.rows.get(row.parent) : null;
    return parent !== null && this.#isServed(parent, only);
  }

  /** At most as many ticks that catch up as may. */
  #ready({ name, lanes }: JobDeclaration, except: Except, limit: number): readonly JobRow[] {
    const found = this.rows.ready(name, !lanes, except, limit);
    const catchingUp = found.filter(({ late }) => late);
    const free = MOST_LATE - this.rows.lateRunning();
    if (catchingUp.length <= free) return found;
    const others = this.rows.ready(name, !lanes, { ...except, late: true }, limit);
    return [...catchingUp.slice(0, free), ...others].toSorted(byUrgency).slice(0, limit);
  }

  #pick({ name, lane }: { readonly name: string; readonly lane: string }, policy: LanePolicy, except: Except): readonly JobRow[] {
    const first = this.rows.heads({ name, lane }, HEADS_PER_OWNER, except);
    const promised = this.rows.promised(name, lane).filter((row) => row.ready && mayStart(row, except));
    const heads = [...new Map([...first, ...promised].map((row) => [row.id, row])).values()].toSorted(byUrgency);
    const start = this.#decide({ name, lane }, policy, { arrived: null, heads });
    const known = new Map(heads.map((row) => [row.id, row]));
    return [...start].flatMap((id) => known.get(id) ?? []);
  }

  /** A less urgent job may be asked to end for the newcomer, which is promised its slot. */
  #arrive({ id, name, lane }: JobRow, policy: LanePolicy): void {
    const row = this.rows.get(id);
    if (row?.ready && lane !== null) this.#decide({ name, lane }, policy, { arrived: row, heads: [row] });
  }

  #decide(
    { name, lane }: { readonly name: string; readonly lane: string },
    policy: LanePolicy,
    { arrived, heads }: { readonly arrived: LaneState['arrived']; readonly heads: readonly JobRow[] },
  ): ReadonlySet<string> {
    const { rows, now } = this;
    const promised = rows.promised(name, lane);
    const {
      start,
      preempt,
      promised: slots,
    } = policy.pick({
      rules: policy.rules(lane),
      arrived: arrived && laneJobOf(arrived),
      heads: heads.map(laneJobOf),
      running: rows
        .running(name)
        .filter((each) => each.lane === lane)
        .map((each) => ({ ...laneJobOf(each), begun: each.begun ?? now, preempted: each.stop?.code === 'preempted' })),
      served: rows.served(name, lane),
      promised: new Map(promised.map((row) => [row.id, row.promise as string])),
      now,
    });
    const isOwn = (row: JobRow): boolean => row.name === name && row.lane === lane;
    for (const id of preempt) this.change(id, (row) => (row.state === 'running' && isOwn(row) ? cancelled(row, PREEMPTED, now) : null));
    for (const [id, slot] of slots)
      this.change(id, (row) => (row.promise === slot || row.state !== 'waiting' || !isOwn(row) ? null : { ...row, promise: slot }));
    return new Set(start);
  }

  renew<Held extends Attempt>(held: readonly Held[]): ReadonlyMap<Held, StopReason> {
    for (const attempt of held) {
      const row = heldRow(this.rows, attempt);
      if (row !== null) this.rows.put({ ...row, until: this.now + LEASE_MS });
    }
    return stopsOf(this.rows, held);
  }

  tick({ schedule: id, due: planned, next, job }: Tick): boolean {
    const schedule = scheduleIn(this.rows, id);
    if (schedule?.next !== planned) return false;
    this.rows.putSchedule({ ...schedule, next });
    if (job === null) return true;
    const { late, skipped, onOpen, ...made } = job;
    if (skipped === null) {
      const open = made.unique === null ? null : this.rows.openUnique(made.name, made.unique);
      if (open !== null && open.begun !== null) this.save({ ...open, unique: null }); // it goes on, and one waits behind it
      this.insert({ ...made, onOpen }, null, late);
    } else {
      const row = created(made, this.rows.nextNumber(), this.now);
      this.save({ ...row, state: 'cancelled', ended: this.now, tells: false, error: { code: 'missed', message: skipped } });
    }
    return true;
  }

  tidy(): boolean {
    const { rows, now } = this;
    const old = [
      ...rows.endedBefore(now - KEEP_MS, 'done', null, TIDY_AT_ONCE),
      ...rows.endedBefore(now - KEEP_MS, 'cancelled', null, TIDY_AT_ONCE),
      ...rows.endedBefore(now - KEEP_MS, 'dead', true, TIDY_AT_ONCE),
      ...rows.endedBefore(now - KEEP_DEAD_MS, 'dead', null, TIDY_AT_ONCE),
    ];
    for (const id of new Set(old)) rows.delete(id);
    for (const { kind, value, until } of rows.holds()) if (until !== null && until <= now) rows.removeHold(kind, value);
    return old.length >= TIDY_AT_ONCE;
  }
}

/** What a policy is told of a job. */
function laneJobOf({ id, owner, priority, preemptible }: NonNullable<LaneState['arrived']>): NonNullable<LaneState['arrived']> {
  return { id, owner, priority, preemptible };
}

function mayStart({ version, late, owner }: JobRow, except: Except): boolean {
  return version <= except.newerThan && !(late && except.late) && !(owner !== null && except.owners.includes(owner));
}

/** Throws `job_exists` where the new one says so. */
function isReplaced({ id, name, unique, begun }: JobRow, onOpen: NewJob['onOpen']): boolean {
  if (onOpen === 'fail')
    throw new PithError('job_exists', `a job '${name}' for '${unique}' is open already`, {
      where: id,
      cure: 'wait for its end, or cancel it',
    });
  return onOpen === 'replace' && begun === null;
}

/** What nothing but the end of jobs ends. */
function jobsAlone(wait: JobRow['wait']): readonly string[] {
  return wait === null || wait.resume || wait.until !== undefined || wait.deadline !== undefined ? [] : (wait.jobs ?? []);
}

const ENDLESS = {
  kind: 'failed',
  error: { code: 'not_allowed', message: 'it would wait for ever: a job that it waits for is itself, or waits for it' },
  retryAt: 0,
  isFinal: true,
} as const satisfies Outcome;
const BY_JOBS = { by: 'jobs', value: 'null' } as const;
const PARENT_ENDED = { code: 'cancelled', message: 'the job that it belongs to has ended' } as const;
const PREEMPTED = { code: 'preempted', message: 'a more urgent job took its place' } as const;

/** How a hold names a lane or owner of one extension only, that of the job `name`. */
export function heldValue(name: string, value: string): string {
  return `${name.slice(0, name.indexOf('.') + 1)}${value}`;
}

/** The lanes or owners whose jobs `name` are held. */
function valuesOf(holds: readonly Hold[], kind: Hold['kind'], name: string): readonly string[] {
  const own = heldValue(name, '');
  return holds.flatMap((hold) => {
    if (hold.kind !== kind) return [];
    return hold.value.startsWith(own) ? [hold.value, hold.value.slice(own.length)] : [hold.value];
  });
}

function tellingOf({ id, name, version, traceparent }: JobRow, telling: string): NewJob {
  const payload = JSON.stringify(id);
  return { ...PLAIN_JOB, id: telling, name: `${name}${ENDED_SUFFIX}`, version, payload, mostAttempts: 8, traceparent };
}
