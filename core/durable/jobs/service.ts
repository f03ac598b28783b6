import type { JobInfo, JsonValue, Logger, Clock } from '../../contract/index.ts';
import type { JobDeclaration, JobStore, LanePolicy } from './port.ts';
import type { JobRow, Wait } from './row.ts';

/** What a handler is given; plain data, the same in both tiers. */
export interface JobCall {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly payload: JsonValue;
  readonly attempt: number;
  readonly fence: number;
  readonly sequence: string | null;
  readonly owner: string | null;
  readonly lane: string | null;
  readonly priority: number;
  readonly idempotencyKey: string;
  readonly resumed?: { readonly by: 'until' | 'deadline' | 'jobs' | 'resume'; readonly value: JsonValue };
}

/** What it returned; `result` is JSON text. */
export type HandlerEnd =
  | { readonly kind: 'done'; readonly result: string }
  | { readonly kind: 'again'; readonly at: number }
  | { readonly kind: 'wait'; readonly wait: Wait };

export interface JobServiceOptions {
  readonly store: JobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The jobs of all enabled extensions by full name, and the kernel's own. */
  declared(): ReadonlyMap<string, JobDeclaration>;
  /** Those whose handlers can be called in this process, loaded or not. */
  callable(): ReadonlySet<string>;
  /** The policies for lanes that are loaded here, by full name. */
  policies(): ReadonlyMap<string, LanePolicy>;
  /** Loads the code of the extension that declares this job. */
  load(name: string): Promise<void>;
  /**
   * Calls a handler. Rejects with what it threw; `Postponed` while the handler is not there or was replaced meanwhile; a `PithError`
   * `job_outdated` where nobody can read the payload, which is final.
   */
  call(name: string, job: JobCall, signal: AbortSignal): Promise<HandlerEnd>;
  /** Tells an extension of a job that ended otherwise than by its handler. Rejects as `call`. */
  tell(name: string, job: JobInfo, signal: AbortSignal): Promise<void>;
}

/** Works on jobs in this process. */
export interface JobService {
  readonly store: JobStore;
  /** Serves every job that can be called here, and the timetables. */
  start(): void;
  /** Aborts what runs, gives back what settles within the grace, and leaves the rest to expire. */
  stop(): Promise<void>;
  /** Handlers may have come or gone. */
  refresh(): void;
  /** Jobs were added, resumed, cancelled or released in this process. */
  wake(): void;
  /** The job's states and notes as they change in any process, until it has ended. */
  watch(id: string, signal?: AbortSignal): AsyncIterable<JobInfo>;
  /** The job once it has ended; while nothing is served here, its lane or name is, meanwhile. */
  finished(id: string, signal?: AbortSignal): Promise<JobInfo>;
}

/** As others see a job. */
export function infoOf(row: JobRow, notes: JobInfo['notes'] = []): JobInfo {
  const { id, name, state, lane, owner, parent, attempts, error, made, at, begun, ended } = row;
  return {
    id,
    name,
    state,
    payload: JSON.parse(row.payload),
    lane,
    owner,
    parent,
    attempts,
    result: row.result === null ? null : JSON.parse(row.result),
    error,
    times: { made, at, begun, ended },
    notes,
  };
}
