import { cureParts } from '@pith/command-line';
import { codeOf, messageOf, PithError } from 'pith';
import type { Refusal, Route, RouteAnswer } from './contract.ts';

/** Statuses of codes that do not end in what says it. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['usage', 400],
  ['token_needed', 401],
  ['not_allowed', 403],
  ['not_agreed', 403],
  ['denied', 403],
  ['restricted', 403],
  ['skill_not_offered', 404],
  ['thread_busy', 409],
  ['write_conflict', 409],
  ['job_exists', 409],
  ['approval_answered', 409],
  ['approval_needed', 409],
  ['awaiting_approval', 409],
  ['nothing_to_resume', 409],
  ['limit_reached', 429],
  ['quota_exceeded', 429],
  ['stopped', 503],
  ['interrupted', 503],
]);

/** A fault of Pith or of the extension, which says nothing to who called. So do the system's own codes, in capitals. */
const FAULTS: ReadonlySet<string> = new Set(['internal', 'provider_failed', 'provider_timeout', 'not_serialisable', 'not_declared']);

/** The status of an error that the client may read; null: it may not. */
function statusOf(code: string): number | null {
  const known = STATUSES.get(code);
  if (known !== undefined) return known;
  if (/(?:^|_)(?:unknown|not_found)$/.test(code)) return 404;
  if (code.endsWith('_invalid')) return 400;
  return FAULTS.has(code) || !/^[a-z]/.test(code) ? null : 422; // a reason why it cannot be done
}

/** The answer of a refusal. */
export interface RefusedAnswer extends RouteAnswer {
  readonly why: Refusal;
}

export function failure(
  status: number,
  code: string,
  message: string,
  more: Pick<Refusal, 'cure' | 'problems'> & Pick<RouteAnswer, 'headers'> = {},
): RefusedAnswer {
  const { headers, ...details } = more;
  const { cure, ...rest } = details;
  const data = { ...rest, ...(cure === undefined ? {} : { cure: { ...cureParts(cure) } }) };
  return {
    status,
    ...(headers === undefined ? {} : { headers }),
    json: { error: { code, message, ...data } },
    why: { status, code, message, ...details },
  };
}

/** In the words of its route. */
export function inWordsOf({ refused }: Pick<Route, 'refused'>, { why, ...answer }: RefusedAnswer): RouteAnswer {
  return refused === undefined ? answer : { ...answer, json: refused(why) };
}

export const UNKNOWN = failure(404, 'not_found', 'there is nothing at this address');

/** The answer to an unexpected error, which is in the log: the client learns nothing of it. */
export const INTERNAL = failure(500, 'internal', 'something went wrong; the log of the server says what');

/** Codes of a full disk: the system's, an extension's. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'disk_full']);
/** SQLite's result codes of a full disk. https://sqlite.org/rescode.html */
const FULL_OF_SQLITE: readonly number[] = [13, 4874];

/** Whoever says so: the system, the database or an extension. */
function isDiskFull(error: unknown): boolean {
  if (FULL.has(codeOf(error, ''))) return true;
  const { cause } = error instanceof PithError ? error : { cause: error };
  return typeof cause === 'object' && cause !== null && 'errcode' in cause && FULL_OF_SQLITE.includes(Number(cause.errcode));
}

/** What a client may know of an error; null: nothing. */
export function failureOf(error: unknown): RefusedAnswer | null {
  const code = codeOf(error, '');
  if (isDiskFull(error)) return failure(507, 'disk_full', 'the disk is full', { cure: 'free some space and try again' });
  const found = error instanceof PithError ? statusOf(code) : null;
  if (found === null) return null;
  const { cure, problems, retryAfterMs } = error as PithError;
  const isOfFields = (found === 404 || found === 422) && problems !== undefined; // what was sent names something unknown, not the address
  const status = isOfFields ? 400 : found;
  const wait = status === 429 || status === 503 ? { 'retry-after': String(Math.ceil((retryAfterMs ?? 60_000) / 1000)) } : undefined;
  return failure(status, code, messageOf(error), {
    ...(cure === undefined ? {} : { cure }),
    ...(problems === undefined ? {} : { problems }),
    ...(wait === undefined ? {} : { headers: wait }),
  });
}
