import type { JobInfo } from '../../contract/index.ts';
import type { HandlerEnd, JobCall } from '../../kernel/index.ts';
import type { JobRow } from './row.ts';

export type { HandlerEnd, JobCall } from '../../kernel/index.ts';

export interface JobHandlers {
  /**
   * Calls a handler. Rejects with what it threw; `Postponed` while the handler is not there or was replaced meanwhile; a `PithError`
   * `job_outdated` where nobody can read the payload, which is final.
   */
  call(name: string, job: JobCall, signal: AbortSignal): Promise<HandlerEnd>;
  /** Notifies an extension of a job that ended otherwise than by its handler. Rejects as `call`. */
  notify(name: string, job: JobInfo, signal: AbortSignal): Promise<void>;
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
