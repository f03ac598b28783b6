import { eventsIn } from './events.ts';
import { pageValue, person } from './session.ts';

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

/** Begins a turn and leaves, so that no connection is kept: the turn goes on. Rejects with `ApiError` where it was refused. */
export async function beginTurn(path: string, body: object): Promise<void> {
  const { body: stream } = await answered('POST', path, body, { accept: 'text/event-stream' });
  if (stream === null) return;
  for await (const { type, data } of eventsIn(stream)) {
    const event = data['event'] as { readonly type?: string; readonly error?: Pick<Said, 'code' | 'message'> & { readonly cure?: string } };
    if (type === 'open' && data['state'] === 'queued') return; // it begins later
    if (type !== 'turn') continue;
    if (event.type !== 'turn-end' || event.error === undefined || data['turn'] !== null) return;
    const { code, message, cure = null } = event.error;
    throw new ApiError({ status: 409, code, message, cure, answer: {} });
  }
}

interface Wanted {
  readonly signal?: AbortSignal;
  readonly accept?: string;
  readonly match?: string | null;
}

async function answered(method: Method, path: string, body: unknown, { signal, accept, match = null }: Wanted): Promise<Response> {
  const isFile = body instanceof Blob;
  // Most routes that delete take no body, and refuse one.
  const isSent = method !== 'GET' && (method !== 'DELETE' || body !== undefined);
  const answer = await fetch(path, {
    method,
    ...(signal === undefined ? {} : { signal }),
    headers: {
      'x-pith-page': pageValue(),
      ...(accept === undefined ? {} : { accept }),
      ...(match === null ? {} : { 'if-match': match }),
      ...(method === 'GET' ? {} : { 'idempotency-key': crypto.randomUUID() }),
      ...(isSent ? { 'content-type': isFile ? body.type : 'application/json' } : {}),
    },
    ...(isSent ? { body: isFile ? body : JSON.stringify(body ?? {}) } : {}),
  }).catch(() => {
    const cure = 'start it with: pith serve';
    throw new ApiError({ status: 0, code: 'unreachable', message: 'Pith does not answer', cure, answer: {} });
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

/** A text, such as an export. Rejects as `ask`. */
export async function readText(path: string): Promise<string> {
  const answer = await fetch(path, { headers: { 'x-pith-page': pageValue() } });
  if (!answer.ok) throw new ApiError({ status: answer.status, code: 'failed', message: answer.statusText, cure: null, answer: {} });
  return answer.text();
}
