import type { JobInfo } from '../../contract/index.ts';
import type { HandlerEnd, JobHandlers, LanePolicy } from '../../kernel/index.ts';
import type { JobRow, NewJob, State } from './row.ts';

/** A job as a manifest declares it. */
export type DeclaredJob = ReturnType<JobHandlers['declared']> extends ReadonlyMap<string, infer Declared> ? Declared : never;

/** What is known of a job without code: as a manifest says it, or the kernel. */
export interface JobDeclaration extends Pick<DeclaredJob, 'version' | 'lanes' | 'attempts' | 'backoff' | 'timeout_ms'> {
  /** The full name. */
  readonly name: string;
  /** How many run at once in the whole sandbox. */
  readonly concurrency: number;
  /** False: a row is deleted when it is done. */
  readonly keep: boolean;
  /** Why its extension cannot run, with the cure; null: nothing is known against it. */
  failure?(): Promise<string | null>;
}

/** One attempt: what its process may write carries this. */
export interface Attempt {
  readonly id: string;
  readonly fence: number;
}

/** Who asks for jobs. */
export interface Claim {
  readonly holder: string;
  /** Those whose handlers this process can call, by name. */
  readonly jobs: Pick<ReadonlyMap<string, JobDeclaration>, 'get' | 'has'>;
  /** The policies of names with `lanes` that this process has; they never throw. Jobs in lanes of other such names wait. */
  readonly policies: ReadonlyMap<string, LanePolicy>;
  /** Only jobs of these names or lanes, and those inside these jobs; null: all. */
  readonly only: { readonly names: ReadonlySet<string>; readonly lanes: ReadonlySet<string>; readonly jobs: ReadonlySet<string> } | null;
  /** The most that are taken. */
  readonly most: number;
}

export interface Claimed {
  readonly taken: readonly JobRow[];
  /** When there may be more to do: the next due time, or end of a lease, a grace or a hold; past where this claim did not do all. null: unknown. */
  readonly next: number | null;
  /** Names with `lanes` that have work in lanes and of which the claim had no policy: their code must be loaded. */
  readonly unloaded: readonly string[];
}

/** Why an attempt must stop: somebody else has the job, or it is to end. */
export type StopReason = 'lost' | 'cancelled' | 'preempted';

/** How an attempt ended. */
export type Outcome =
  | HandlerEnd
  /** `retryAt`: the time of the next attempt, if there is one. */
  | { readonly kind: 'failed'; readonly error: NonNullable<JobRow['error']>; readonly retryAt: number; readonly isFinal?: true }
  /** The process stops, or the handler could not be called: it costs nothing. `at` null: at once. */
  | { readonly kind: 'returned'; readonly at: number | null };

export interface JobFilter {
  readonly names?: readonly string[];
  /** Names that begin with this. */
  readonly prefix?: string;
  /** Names that begin with none of these. */
  readonly without?: readonly string[];
  readonly states?: readonly State[];
  readonly lane?: string;
  readonly owner?: string;
  readonly parent?: string;
  readonly ids?: readonly string[];
  /** Nobody works on it, though it could be started, or its lease was over, before this. */
  readonly overdue?: number;
  /** Committed before the job with this number: the next page. */
  readonly before?: number;
  readonly limit: number;
}

export type HoldKind = 'name' | 'lane' | 'owner';

export interface Hold {
  readonly kind: HoldKind;
  readonly value: string;
  /** null: until it is released. */
  readonly until: number | null;
  readonly reason: string;
}

/** A timetable as it is stored. */
export interface ScheduleRow {
  /** `<extension id>.<id>`. */
  readonly id: string;
  readonly cron: string;
  readonly zone: string;
  /** The job of each tick, without what each has of its own. */
  readonly job: Pick<NewJob, 'name' | 'version' | 'payload' | 'mostAttempts' | 'tells'>;
  readonly missed: 'once' | 'skip';
  readonly within: number | null;
  /** null: it has no more. */
  readonly next: number | null;
}

/** A tick that was due: what it makes, and when the next is, compared and set in one commit. */
export interface Tick {
  readonly schedule: string;
  /** As it was read: another process that was faster has changed it. */
  readonly due: number;
  readonly next: number | null;
  /** null: the clock was ahead when `due` was planned, and no job is made. */
  readonly job: (NewJob & { readonly late: boolean; readonly skipped: string | null }) | null;
}

/** Where jobs are kept. Any number of processes may call it at once; each call is one transaction by the store's clock. */
export interface JobStore {
  insert(job: NewJob, policy: LanePolicy | null): Promise<{ readonly id: string; readonly added: boolean }>;
  /** Takes over expired jobs and those that are due, in their order. */
  claim(claim: Claim): Promise<Claimed>;
  /** Whether `claim` could do anything now: a look that writes nothing. */
  isDue(claim: Claim): Promise<Pick<Claimed, 'next'> & { readonly due: boolean }>;
  /** Renews what a process has, and says which of it must stop. */
  renew<Held extends Attempt>(held: readonly Held[]): Promise<ReadonlyMap<Held, StopReason>>;
  /** As `renew`, without writing. */
  stops<Held extends Attempt>(held: readonly Held[]): Promise<ReadonlyMap<Held, StopReason>>;
  /** False: another process has it, and nothing was written. `keep`: as its declaration says. */
  settle(attempt: Attempt, outcome: Outcome, keep: boolean): Promise<boolean>;
  /** Its process stops and does not wait for it: that its lease runs out will be no loss. */
  leave(held: readonly Attempt[]): Promise<void>;
  /** Keeps a note. False: another process has it. */
  note(attempt: Attempt, data: string): Promise<boolean>;
  notes(id: string): Promise<JobInfo['notes']>;
  resume(id: string, value: string): Promise<boolean>;
  /** False: it had ended. */
  cancel(id: string, message: string): Promise<boolean>;
  /** New attempts for one that is dead, cancelled or failed. False: it is none of these. */
  retry(id: string): Promise<boolean>;
  get(id: string): Promise<JobRow | null>;
  /** Newest first. */
  list(filter: JobFilter): Promise<readonly JobRow[]>;
  count(filter: Omit<JobFilter, 'limit'>): Promise<number>;
  /** How many of a name run, without those in a slot of their parent. */
  running(name: string): Promise<number>;
  /** Jobs that were changed by commits after this one, and the last commit. */
  changesSince(number: number): Promise<{ readonly number: number; readonly ids: readonly string[] }>;
  /** A number that changes with each write of another process. */
  revision(): Promise<number>;
  markSeen(ids: readonly string[]): Promise<void>;
  hold(hold: Hold): Promise<void>;
  release(kind: HoldKind, value: string): Promise<void>;
  holds(): Promise<readonly Hold[]>;
  schedules(): Promise<readonly ScheduleRow[]>;
  putSchedule(schedule: ScheduleRow): Promise<void>;
  removeSchedule(id: string): Promise<void>;
  /** False: another process was faster. */
  tick(tick: Tick): Promise<boolean>;
  /** After the clock was set back: no lease lasts longer than one taken now, no retry waits longer than the longest. */
  repairClock(longestRetryMs: number): Promise<void>;
  /** Deletes some of what is kept no longer. True: there is more. */
  tidy(): Promise<boolean>;
}
