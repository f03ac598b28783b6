import type { JobInfo, JsonValue } from '../../contract/index.ts';
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

export interface JobHandlers {
  /**
   * Calls a handler. Rejects with what it threw; `Postponed` while the handler is not there or was replaced meanwhile; a `PithError`
   * `job_outdated` where nobody can read the payload, which is final.
   */
  call(name: string, job: JobCall, signal: AbortSignal): Promise<HandlerEnd>;
  /** Tells an extension of a job that ended otherwise than by its handler. Rejects as `call`. */
  tell(name: string, job: JobInfo, signal: AbortSignal): Promise<void>;
}

/** As its handler sees a job. */
export function callOf(row: JobRow): JobCall {
  const { id, name, version, attempts, fence, sequence, owner, lane, priority, resumed } = row;
  return {
    id,
    name,
    version,
    payload: JSON.parse(row.payload),
    attempt: attempts + 1,
    fence,
    sequence,
    owner,
    lane,
    priority,
    idempotencyKey: id,
    ...(resumed && { resumed: { by: resumed.by, value: JSON.parse(resumed.value) } }),
  };
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
