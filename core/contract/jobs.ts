import type { JsonValue } from './errors.ts';

/** `scheduled` for later, `suspended` until something happens, `failed`: tried again. Ended: `done`, `cancelled`, `dead`: not tried again. */
type JobState = 'waiting' | 'scheduled' | 'running' | 'suspended' | 'failed' | 'done' | 'cancelled' | 'dead';

/** A job as others see it. */
export type JobInfo = {
  readonly id: string;
  /** `<extension id>.<name>`. */
  readonly name: string;
  readonly state: JobState;
  readonly payload: JsonValue;
  readonly lane: string | null;
  readonly owner: string | null;
  readonly parent: string | null;
  /** Failures of its handler in a row; none after `again` and `wait`. */
  readonly attempts: number;
  /** What the handler returned; null before. */
  readonly result: JsonValue;
  /** The last failure, or why it was cancelled or is dead. */
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Why one that is `waiting` does not begin, such as a pause; null where nothing keeps it, and in lists. */
  readonly whyWaiting: string | null;
  /** `at`: when it is due. `begun`: its first attempt; `attemptBegun`: its last. */
  readonly times: Readonly<Record<'made' | 'at', number> & Record<'begun' | 'attemptBegun' | 'ended', number | null>>;
  /** The last 200 that its handler kept, oldest first; empty in lists. */
  readonly notes: readonly { readonly at: number; readonly data: JsonValue }[];
};

/** Ends an attempt without a failure: made by `jobs.again` and `jobs.wait`, returned by a handler. */
interface Pause {
  readonly pause: 'again' | 'wait';
}

/** What ends a wait, the first of them; one that has happened already counts. */
interface WaitFor {
  /** Times; they differ only in what `resumed.by` says. */
  readonly until?: number;
  readonly deadline?: number;
  /** All of these jobs have ended. */
  readonly jobs?: readonly string[];
  /** A call of `jobs.resume`. */
  readonly resume?: true;
}

/** One attempt at a job. */
export interface Job<Payload = JsonValue> {
  readonly id: string;
  readonly name: string;
  readonly payload: Payload;
  /** Counts from 1. */
  readonly attempt: number;
  /** Grows with each attempt: of two that have the same job, the one with the greater number has it now. */
  readonly fence: number;
  readonly sequence: string | null;
  readonly owner: string | null;
  readonly lane: string | null;
  readonly priority: number;
  /** The same for each attempt: give it to whatever must happen once. */
  readonly idempotencyKey: string;
  /** What ended its wait; absent where it did not wait. */
  readonly resumed?: { readonly by: 'until' | 'deadline' | 'jobs' | 'resume'; readonly value: JsonValue };
  /** Kept for those who watch. Rejects `lease_lost` once another process has the job. */
  note(data: JsonValue): Promise<void>;
}

interface JobOptions {
  /** One open job of this name for it. `onOpen`: what happens where there is one: default `keep`; `replace` only before it has begun. */
  readonly unique?: string;
  readonly onOpen?: 'keep' | 'replace' | 'fail';
  /** Jobs of one name and sequence run one after the other, in the order in which they were added. */
  readonly sequence?: string;
  readonly at?: number;
  readonly lane?: string;
  /** Whom it is for: lanes and people's commands tell jobs apart by it. */
  readonly owner?: string;
  /** Higher first; default 0. */
  readonly priority?: number;
  /** It is cancelled with this job. */
  readonly parent?: string;
  /** It runs in the slot of this job, and ends with it. */
  readonly inside?: string;
  /** A more urgent job of its lane may take its place. */
  readonly preemptible?: boolean;
  /** Overrides that of the manifest. 1: never repeated, also after a crash. */
  readonly attempts?: number;
}

/** An opaque part of a `database.write`. `id`: of the job that it adds, unless one with its `unique` is open. */
export interface JobStatement {
  readonly job: string;
}

interface LaneJob {
  readonly id: string;
  readonly owner: string | null;
  readonly priority: number;
  readonly preemptible: boolean;
}

/** What a policy decides upon. Jobs are in the order in which they were added. */
interface Lane<Rules> {
  /** The job that is being added; null: slots are given out. */
  readonly arrived: LaneJob | null;
  /** The first few of each owner that could start now, the most urgent first, and those that were promised a slot. */
  readonly heads: readonly LaneJob[];
  /** `preempted`: it was asked to end. */
  readonly running: readonly (LaneJob & { readonly begun: number; readonly preempted: boolean })[];
  /** At which of the lane's turns each owner was served last; absent: never. */
  readonly served: ReadonlyMap<string | null, number>;
  /** Whose slot a waiting job gets, by the ids of both. */
  readonly promised: ReadonlyMap<string, string>;
  readonly rules: Rules;
  readonly now: number;
}

/** How slots of lanes are given out: pure functions, asked in the transaction that adds or starts jobs. In process only. */
interface LanePolicy<Rules = unknown> {
  rules(lane: string): Rules;
  /** Ids: `start` is used where nothing arrived, `preempt` ends running jobs, `promised` is kept until the job starts. */
  pick(lane: Lane<Rules>): {
    readonly start: readonly string[];
    readonly preempt: readonly string[];
    readonly promised: ReadonlyMap<string, string>;
  };
}

interface JobHandling<Payload> {
  /** A payload that an older `version` of the manifest wrote, as this one reads it. Without it, such jobs are `dead`. */
  migrate?(payload: JsonValue, version: number): Payload;
  /** Called where a job ended otherwise than by its handler: cancelled, preempted, dead. At least once. */
  ended?(job: JobInfo, signal: AbortSignal): Promise<void>;
  /** For jobs with a `lane`; the manifest says `lanes: true`. */
  readonly lanes?: LanePolicy;
}

/** A timetable: five fields of cron in a time zone, whose ticks are jobs. */
interface Timetable {
  readonly cron: string;
  /** Default: that of the machine. */
  readonly zone?: string;
  readonly name: string;
  /** The job's payload; it has the time of the tick as `at` where the payload is an object. */
  readonly payload?: JsonValue;
  /** What happens to ticks that were missed: one job for all of them (default), or none. */
  readonly missed?: 'once' | 'skip';
  /** A tick that is late by more milliseconds is skipped. */
  readonly within?: number;
}

type Paused = { readonly name: string } | { readonly lane: string } | { readonly owner: string };

/** Durable work of one extension: done later, once, and over crashes. Names are those of the manifest's `jobs`, without the extension's id. */
export interface Jobs {
  /** In the constructor. A handler that throws has failed; it is tried again with back-off, then `dead`. */
  define<Payload = JsonValue>(
    name: string,
    handler: (job: Job<Payload>, signal: AbortSignal) => Promise<JsonValue | Pause | void>,
    handling?: JobHandling<Payload>,
  ): void;
  /** Resolves once it is on disk. `added` false: the one with its `unique` was kept. Payload of at most 1 MiB. */
  add(name: string, payload: JsonValue, options?: JobOptions): Promise<{ readonly id: string; readonly added: boolean }>;
  /** Adds a job in the commit of a `database.write`. In process only. */
  statement(name: string, payload: JsonValue, options?: JobOptions): JobStatement;
  /** Makes a `database.write` reject `lease_lost` once another process has the job. In process only. */
  guard(job: Pick<Job, 'id' | 'fence'>): JobStatement;
  /** For the handler to return: starts it again at that time. */
  again(at: number): Pause;
  /** For the handler to return: starts it again when the first of these has happened. It holds no slot meanwhile. */
  wait(event: WaitFor): Pause;
  /** Ends the wait of a job that waits for `resume`, also where it begins to wait later. False: it has ended. */
  resume(id: string, value?: JsonValue): Promise<boolean>;
  /** Aborts the signal of one that runs. False: it has ended. */
  cancel(id: string, reason?: string): Promise<boolean>;
  /** null: there is none, or it is another extension's. */
  get(id: string): Promise<JobInfo | null>;
  /** Newest first; default at most 100. */
  list(
    filter?: { readonly state?: JobState; readonly limit?: number } & Readonly<
      Partial<Record<'name' | 'lane' | 'owner' | 'parent', string>>
    >,
  ): Promise<readonly JobInfo[]>;
  /** Its states and notes as they change in any process, until it has ended. */
  watch(id: string, signal?: AbortSignal): AsyncIterable<JobInfo>;
  /** The job once it has ended. A process that runs no services serves the job's lane, or name, until it begins. */
  finished(id: string, signal?: AbortSignal): Promise<JobInfo>;
  /** Replaces the timetable of that id; null removes it. Each tick is one job, over any number of processes. */
  schedule(id: string, timetable: Timetable | null): Promise<void>;
  /** Nothing of it starts until then, or until null resumes it; running jobs go on. */
  pause(what: Paused, pause: { readonly until?: number; readonly reason: string } | null): Promise<void>;
}
