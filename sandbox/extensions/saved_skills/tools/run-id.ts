import { createHash } from 'node:crypto';
import type { ToolCall } from 'pith';

const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The id of the run that a call asks for: the same for each attempt at the call, and in the order of time like every id of a run. */
export function runIdOf({ turn, idempotencyKey }: Pick<ToolCall, 'turn' | 'idempotencyKey'>, index = 0): string {
  const time = /^[0-9A-HJKMNP-TV-Z]{10}/.exec(turn.id)?.[0] ?? '0000000000';
  const digest = createHash('sha256').update(`${idempotencyKey}/${index}`).digest();
  return time + [...digest.subarray(0, 16)].map((byte) => LETTERS[byte % 32]).join('');
}
