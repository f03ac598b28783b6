import type { Job } from '../../contract/index.ts';
import type { Wait } from '../../kernel/index.ts';

/** The states of a job. `failed`: it waits for its next attempt, and holds its sequence. */
export const STATES = ['waiting', 'scheduled', 'running', 'suspended', 'failed', 'done', 'cancelled', 'dead'] as const;
export type State = (typeof STATES)[number];

const ENDED: ReadonlySet<State> = new Set<State>(['done', 'cancelled', 'dead']);

export function hasEnded({ state }: Pick<JobRow, 'state'>): boolean {
  return ENDED.has(state);
}

/** Plain data of one job, the same in every store. Times are milliseconds since the epoch, JSON is text. */
export interface JobRow {
  /** A ULID. */
  readonly id: string;
  /** The place in the order in which jobs were committed. */
  readonly number: number;
  /** The number of the commit that changed it last. */
  readonly changed: number;
  /** `<extension id>.<name>`, or one of the kernel's. */
  readonly name: string;
  /** The version of the payload. */
  readonly version: number;
  readonly payload: string;
  readonly state: State;
  /** When it is due; of one that is suspended, when its wait is over at the latest (`NEVER`: it has no end). */
  readonly at: number;
  readonly lane: string | null;
  readonly owner: string | null;
  readonly priority: number;
  readonly unique: string | null;
  readonly sequence: string | null;
  readonly parent: string | null;
  /** It runs in the slot of its parent, and ends with it. */
  readonly inside: boolean;
  readonly preemptible: boolean;
  /** A tick that catches up. */
  readonly late: boolean;
  /** Failures of its handler in a row. */
  readonly attempts: number;
  /** The attempt with this number is the last; `NEVER`: none is, whatever is lost. */
  readonly mostAttempts: number;
  /** Losses of its process in a row. */
  readonly lost: number;
  /** How often it was claimed. Each later write of an attempt names it, and changes nothing once it has grown. */
  readonly fence: number;
  readonly holder: string | null;
  /** Its holder has it until then, unless that renews it. Of one that has ended: jobs that end with it are left, from then on. */
  readonly until: number | null;
  /** Its process is stopping: that it runs out is no loss. */
  readonly leaving: boolean;
  /** It was asked to end. */
  readonly stop: { readonly code: 'cancelled' | 'preempted'; readonly message: string; readonly at: number } | null;
  /** The running job whose slot it gets. */
  readonly promise: string | null;
  readonly wait: Wait | null;
  /** What ended its last wait. */
  readonly resumed: Resumed | null;
  /** JSON of what it was resumed with before it began to wait: its next wait is over at once. */
  readonly early: string | null;
  /** JSON of what the handler returned. */
  readonly result: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly made: number;
  /** When its first attempt began. */
  readonly begun: number | null;
  /** When its last one did. */
  readonly attemptBegun: number | null;
  readonly ended: number | null;
  /** A person was shown that it is dead. */
  readonly seen: boolean;
  /** Its extension is called where it ends otherwise than by its handler. */
  readonly tells: boolean;
  /** The span that added it, as W3C writes it; null: nobody collected spans there. */
  readonly traceparent: string | null;
  /** It waits, and is the first of its sequence that may start. */
  readonly ready: boolean;
}

export const NEVER = Number.MAX_SAFE_INTEGER;

/** A job of the kernel itself: its name has a space, which no extension's has. */
export function isOfKernel(name: string): boolean {
  return name.includes(' ');
}

export interface Resumed extends Pick<NonNullable<Job['resumed']>, 'by'> {
  /** JSON. */
  readonly value: string;
}

/** What a job is unless somebody says otherwise. */
export const PLAIN_JOB = {
  version: 1,
  lane: null,
  owner: null,
  priority: 0,
  unique: null,
  onOpen: 'keep',
  sequence: null,
  parent: null,
  inside: false,
  preemptible: false,
  tells: false,
  traceparent: null,
  at: null,
} as const;

/** A job before its store has it. */
export interface NewJob extends Pick<
  JobRow,
  'id' | 'name' | 'payload' | 'mostAttempts' | Exclude<keyof typeof PLAIN_JOB, 'onOpen' | 'at'>
> {
  /** null: now. */
  readonly at: number | null;
  readonly onOpen: 'keep' | 'replace' | 'fail';
}

/** The extension that declares jobs of this name; '' for the kernel's own. */
export function extensionOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf('.')));
}
