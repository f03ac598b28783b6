import { isWebPage, serverWords } from '@pith/server-answers';

/** What any provider's error shows, without knowing its class. */
export interface ModelFault {
  readonly statusCode: number | null;
  /** Whether the error itself says that a retry helps; null when it says nothing. */
  readonly isRetryable: boolean | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The codes of the error, its causes and its parts: `ECONNREFUSED`, `model_not_found`, … */
  readonly codes: ReadonlySet<string>;
  /** All messages and the body, for recognising what providers write. */
  readonly text: string;
  /** The server's own words; empty when it sent none. */
  readonly message: string;
  /** The `host:port` of the request, or null. */
  readonly address: string | null;
  readonly isAbort: boolean;
  /** The refusal says no more than its status, as with an empty body or a proxy's page. */
  readonly isSilent: boolean;
}

const MAX_PARTS = 20;
const MAX_TEXT = 4_000;

/** Reads an error, its causes and the parts of an AggregateError. Never throws. */
export function readFault(error: unknown): ModelFault {
  const parts = partsOf(error);
  const fields = parts.map((part) => (typeof part === 'object' && part !== null ? (part as Fields) : { message: String(part) }));
  const codes = new Set(fields.flatMap(codesOf));
  return {
    statusCode: first(fields, ({ statusCode, status }) => numberOf(statusCode) ?? numberOf(status)),
    isRetryable: first(fields, ({ isRetryable, retryable }) => booleanOf(isRetryable) ?? booleanOf(retryable)),
    headers: headersOf(fields),
    codes,
    text: fields
      .flatMap(({ message, responseBody }) => [message, responseBody])
      .filter((text) => typeof text === 'string')
      .join('\n')
      .slice(0, MAX_TEXT),
    message:
      first(fields, ({ responseBody }) => serverWords(responseBody)) ??
      first(fields, ({ message }) => (typeof message === 'string' && message !== '' ? message : null)) ??
      'no reason given',
    address: first(fields, addressOf),
    isAbort: fields.some(({ name }) => name === 'AbortError' || name === 'ResponseAborted'),
    isSilent:
      !codes.has('context_length_exceeded') &&
      (first(fields, ({ responseBody }) => (typeof responseBody === 'string' ? saysNothing(responseBody) : null)) ?? false),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** HTTP's names of statuses, with or without their numbers. */
const NAME_OF_STATUS =
  /^(?:error[: ]*)?(?:\d{3}[: -]*)?(?:bad request|(?:payload|content|request entity) too large|unprocessable (?:entity|content))?(?: ?\(?\d{3}\)?)?[.!]?$/i;

function saysNothing(body: string): boolean {
  return isWebPage(body) || NAME_OF_STATUS.test(serverWords(body)?.trim() ?? '');
}

/** The error first, then its causes and parts, nearest first. */
function partsOf(error: unknown): unknown[] {
  const parts = [error];
  for (let index = 0; index < parts.length && parts.length < MAX_PARTS; index += 1) {
    const part = parts[index];
    if (typeof part !== 'object' || part === null) continue;
    const { cause, errors, data, error: inner } = part as Fields;
    for (const next of [cause, ...(Array.isArray(errors) ? errors : []), data, inner]) {
      if (typeof next === 'object' && next !== null && !parts.includes(next)) parts.push(next);
    }
  }
  return parts;
}

function codesOf({ code, type }: Fields): string[] {
  return [code, type].filter((value) => typeof value === 'string');
}

function headersOf(fields: readonly Fields[]): Record<string, string> {
  const found = first(fields, ({ responseHeaders, headers }) => objectOf(responseHeaders) ?? objectOf(headers)) ?? {};
  const entries = found instanceof Headers ? [...found.entries()] : Object.entries(found);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function addressOf({ address, port, url }: Fields): string | null {
  if (typeof address === 'string' && typeof port === 'number') return `${address.includes(':') ? `[${address}]` : address}:${port}`;
  if (typeof url !== 'string' || !URL.canParse(url)) return null;
  const { hostname, port: urlPort, protocol } = new URL(url);
  return `${hostname}:${urlPort || (protocol === 'http:' ? '80' : '443')}`;
}

function first<T>(fields: readonly Fields[], read: (part: Fields) => T | null): T | null {
  for (const part of fields) {
    const value = read(part);
    if (value !== null) return value;
  }
  return null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) ? value : null;
}

function booleanOf(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

function objectOf(value: unknown): object | null {
  return typeof value === 'object' ? value : null;
}

/** The delay that `retry-after-ms` or `retry-after` (seconds or a date) asks for; null without them. */
export function askedDelay({ headers }: ModelFault, now: number): number | null {
  const milliseconds = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (milliseconds >= 0) return milliseconds;
  const text = headers['retry-after'];
  if (text === undefined) return null;
  const seconds = Number(text);
  const delay = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(text) - now;
  return Number.isNaN(delay) ? null : Math.max(0, delay);
}

/** Whether a retry may help: too many requests, a server error, an overload, a broken connection. All other errors are final. */
export function mayPass(fault: ModelFault): boolean {
  const { statusCode, isRetryable, codes, text, isAbort } = fault;
  if (isAbort || codes.has('insufficient_quota') || QUOTA_USED.test(text)) return false;
  const isAnswered = statusCode === null || statusCode < 300;
  if (isAnswered && isConnectionLoss(fault)) return true;
  if (isRetryable === false) return false;
  if (!isAnswered) return statusCode === 408 || statusCode === 429 || statusCode >= 500;
  return isRetryable === true || isOverload(fault);
}

/** An error within an answer has no status, so its words decide. */
export function isOverload({ codes, text }: ModelFault): boolean {
  return [...codes, text].some((words) => OVERLOAD.test(words));
}

const OVERLOAD = /rate[ _-]?limit|too[ _]many[ _]requests|overloaded|server (?:is )?busy|service[ _]unavailable|at capacity|no capacity/i;
const QUOTA_USED = /insufficient[_ ]quota/i;

const LOST = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'ENETUNREACH',
  'ENETDOWN',
  'EHOSTUNREACH',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);
const LOST_TEXT = /^(?:fetch failed|terminated|socket hang up|network error|other side closed)$/im;

const BROKEN = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_BODY_TIMEOUT']);
const BROKEN_TEXT = /^(?:terminated|socket hang up|other side closed)$/im;

/** A connection existed and broke: the server runs. */
export function isBrokenConnection(fault: ModelFault): boolean {
  return [...fault.codes].some((code) => BROKEN.has(code)) || BROKEN_TEXT.test(fault.text);
}

/** The provider could not be reached, or the connection broke. */
export function isConnectionLoss(fault: ModelFault): boolean {
  return [...fault.codes].some((code) => LOST.has(code)) || LOST_TEXT.test(fault.text);
}
