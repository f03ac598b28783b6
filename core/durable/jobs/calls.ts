import type { JobInfo } from '../../contract/index.ts';
import type { JobCall } from '../../kernel/index.ts';
import type { JobRow } from './row.ts';

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
export function infoOf(row: JobRow, notes: JobInfo['notes'] = [], whyWaiting: string | null = null): JobInfo {
  const { id, name, state, lane, owner, parent, attempts, error, made, at, begun, attemptBegun, ended } = row;
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
    whyWaiting,
    times: { made, at, begun, attemptBegun, ended },
    notes,
  };
}
