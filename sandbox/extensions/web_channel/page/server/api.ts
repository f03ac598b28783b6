import { eventsIn } from './events.ts';
import { pageValue, person } from './session.ts';

/** Of an event of a turn, what tells whether it has begun. */
interface TurnEvent {
  readonly type: string;
  readonly reason?: string;
  readonly error?: Pick<Said, 'code' | 'message'>;
}

interface Said {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly cure: string | null;
  /** All that was answered. */
  readonly answer: Readonly<Record<string, unknown>>;
}

/** An answer that is no success, in the server's words. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly cure: string | null;
  readonly answer: Said['answer'];

  constructor({ status, code, message, cure, answer }: Said) {
    super(message);
    this.status = status;
    this.code = code;
    this.cure = cure;
    this.answer = answer;
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Asks the server. `match`: only while that is its tag. Rejects with `ApiError`. */
export async function ask<T>(method: Method, path: string, body?: unknown, match: string | null = null): Promise<T> {
  const answer = await answered(method, path, body, { match });
  return (await answer.json().catch(() => ({}))) as T;
}

/** Begins a turn and leaves, so that no connection is kept: the turn goes on. Rejects with `ApiError` where it has not begun, for all that is known. */
export async function beginTurn(path: string, body: object): Promise<void> {
  const { body: stream } = await answered('POST', path, body, { accept: 'text/event-stream' });
  const events = stream === null ? [] : eventsIn(stream);
  try {
    for await (const { type, data } of events) {
      if (type === 'open' && data['state'] === 'queued') return; // it begins later
      if ((type === 'open' || type === 'turn') && data['turn'] !== null) return;
      const end = type === 'turn' ? (data['event'] as TurnEvent) : null;
      if (end?.type !== 'turn-end') continue;
      if (end.reason === 'done') return; // there was nothing to go on with
      const { code, message } = end.error ?? { code: 'aborted', message: 'It was stopped before it began' };
      throw failed(code, message, null, 409);
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    // The connection was cut.
  }
  throw failed('unreachable', 'The connection ended before the message was taken', 'send it again: it is taken once');
}

interface Wanted {
  readonly signal?: AbortSignal;
  readonly accept?: string;
  readonly match?: string | null;
}

/** Rejects with `ApiError`, whatever fails. */
async function answered(method: Method, path: string, body: unknown, wanted: Wanted): Promise<Response> {
  const answer = await sent(method, path, body, wanted).catch((error: unknown) => {
    throw error instanceof ApiError ? error : failed('failed', error instanceof Error ? error.message : String(error));
  });
  if (answer.ok) return answer;
  const said = (await answer.json().catch(() => ({}))) as Readonly<Record<string, unknown>>;
  if (answer.status === 401) person.value = null;
  const {
    code = 'failed',
    message = answer.statusText,
    cure = null,
  } = answer.status === 412 ? CHANGED : ((said['error'] ?? {}) as Partial<ApiError>);
  throw new ApiError({ status: answer.status, code, message, cure, answer: said });
}

const CHANGED = {
  code: 'write_conflict',
  message: 'Somebody else changed this since you opened it',
  cure: 'look at what is there now, then do it again',
};

export const read = <T>(path: string): Promise<T> => ask<T>('GET', path);

/** With its tag, which says later whether it is still the same. Rejects as `ask`. */
export async function readTagged<T>(path: string, signal?: AbortSignal): Promise<{ readonly value: T; readonly tag: string | null }> {
  const answer = await answered('GET', path, undefined, signal === undefined ? {} : { signal });
  return { value: (await answer.json()) as T, tag: answer.headers.get('etag') };
}

async function sent(method: Method, path: string, body: unknown, { signal, accept, match = null }: Wanted): Promise<Response> {
  const isFile = body instanceof Blob;
  // Most routes that delete take no body, and refuse one.
  const isSent = method !== 'GET' && (method !== 'DELETE' || body !== undefined);
  const request: RequestInit = {
    method,
    ...(signal === undefined ? {} : { signal }),
    headers: {
      'x-pith-page': pageValue(),
      ...(accept === undefined ? {} : { accept }),
      ...(match === null ? {} : { 'if-match': match }),
      ...(method === 'GET' ? {} : { 'idempotency-key': newKey() }),
      ...(isSent ? { 'content-type': isFile ? body.type : 'application/json' } : {}),
    },
    ...(isSent ? { body: isFile ? body : JSON.stringify(body ?? {}) } : {}),
  };
  return fetch(path, request).catch(() => {
    throw failed('unreachable', 'Pith does not answer', 'start it with: pith serve');
  });
}

/** An error that the server did not answer. */
function failed(code: string, message: string, cure: string | null = null, status = 0): ApiError {
  return new ApiError({ status, code, message, cure, answer: {} });
}

/** Names a request. Browsers offer more for that only over https and on their own machine. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A text, such as an export. Rejects as `ask`. */
export async function readText(path: string): Promise<string> {
  const answer = await answered('GET', path, undefined, {});
  return answer.text();
}
