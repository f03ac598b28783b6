import { connection, eventsIn } from './events.ts';
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
export function ask<T>(method: Method, path: string, body?: unknown, match: string | null = null): Promise<T> {
  return answered({ method, path, body, match }, valueOf<T>);
}

/** Begins a turn and leaves, so that no connection is kept: the turn goes on. Rejects with `ApiError` where it was refused. */
export function beginTurn(path: string, body: object): Promise<void> {
  return answered({ method: 'POST', path, body, accept: 'text/event-stream' }, isBegun);
}

async function isBegun({ body: stream }: Response): Promise<void> {
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

interface Asked {
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
  readonly match?: string | null;
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

/** What `take` reads of the answer. What was asked over a connection that is lost is asked again: by its key the server does it once. */
async function answered<T>(asked: Asked, take: (answer: Response) => Promise<T>): Promise<T> {
  const request = requestOf(asked);
  for (;;) {
    const lost = await connection();
    const signal = asked.signal === undefined ? lost : AbortSignal.any([lost, asked.signal]);
    try {
      const answer = await fetch(asked.path, { ...request, signal });
      if (!answer.ok) throw await refusalOf(answer);
      return await take(answer);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      if (lost.aborted && asked.signal?.aborted !== true) continue;
      if (!(error instanceof TypeError) && !signal.aborted) throw error;
      const cure = 'start it with: pith serve';
      throw new ApiError({ status: 0, code: 'unreachable', message: 'Pith does not answer', cure, answer: {} });
    }
  }
}

function requestOf({ method, body, match = null, accept }: Asked): RequestInit {
  const isFile = body instanceof Blob;
  // Most routes that delete take no body, and refuse one.
  const isSent = method !== 'GET' && (method !== 'DELETE' || body !== undefined);
  return {
    method,
    headers: {
      'x-pith-page': pageValue(),
      ...(accept === undefined ? {} : { accept }),
      ...(match === null ? {} : { 'if-match': match }),
      ...(method === 'GET' ? {} : { 'idempotency-key': crypto.randomUUID() }),
      ...(isSent ? { 'content-type': isFile ? body.type : 'application/json' } : {}),
    },
    ...(isSent ? { body: isFile ? body : JSON.stringify(body ?? {}) } : {}),
  };
}

/** Empty for an answer without a body. */
async function valueOf<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  return (text === '' ? {} : JSON.parse(text)) as T;
}

async function refusalOf(answer: Response): Promise<ApiError> {
  if (answer.status === 401) person.value = null;
  const said = await valueOf<Readonly<Record<string, unknown>>>(answer).catch(() => ({})); // of a proxy, perhaps
  const error = answer.status === 412 ? CHANGED : ((said as { readonly error?: Partial<Said> }).error ?? {});
  const { code = 'failed', message = answer.statusText, cure = null } = error;
  return new ApiError({ status: answer.status, code, message, cure, answer: said });
}

const CHANGED = {
  code: 'write_conflict',
  message: 'Somebody else changed this since you opened it',
  cure: 'look at what is there now, then do it again',
};

export const read = <T>(path: string): Promise<T> => ask<T>('GET', path);

export interface Tagged<T> {
  readonly value: T;
  readonly tag: string | null;
}

/** With its tag, which says later whether it is still the same. Rejects as `ask`. */
export function readTagged<T>(path: string, signal?: AbortSignal): Promise<Tagged<T>> {
  const take = async (answer: Response) => ({ value: await valueOf<T>(answer), tag: answer.headers.get('etag') });
  return answered({ method: 'GET', path, ...(signal === undefined ? {} : { signal }) }, take);
}

/** A text, such as an export. Rejects as `ask`. */
export function readText(path: string): Promise<string> {
  return answered({ method: 'GET', path }, (answer) => answer.text());
}
