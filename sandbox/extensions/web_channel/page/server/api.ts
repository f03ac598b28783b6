import type { Cure } from './cure.ts';
import { beforeEvents, connection, eventsIn } from './events.ts';
import { findPerson, pageValue } from './session.ts';

/** Of an event of a turn, what tells whether it has begun. */
interface TurnEvent {
  readonly type: string;
  readonly reason?: string;
  readonly error?: Pick<RefusedAnswer, 'code' | 'message'>;
}

interface RefusedAnswer {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly cure: Cure | null;
  /** All that was answered. */
  readonly answer: Readonly<Record<string, unknown>>;
}

/** An answer that is no success, in the server's words. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly cure: Cure | null;
  readonly answer: RefusedAnswer['answer'];

  constructor({ status, code, message, cure, answer }: RefusedAnswer) {
    super(message);
    this.status = status;
    this.code = code;
    this.cure = cure;
    this.answer = answer;
  }

  /** The server is not there, or stops: the page asks again once it is connected. */
  get isUnreached(): boolean {
    return this.status === 0 || this.status === 503;
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Asks the server. `match`: only while that is its tag. Rejects with `ApiError`. */
export function ask<T>(method: Method, path: string, body?: unknown, match: string | null = null): Promise<T> {
  const work = (): Promise<T> => answered({ method, path, body, match }, valueOf<T>);
  return method === 'DELETE' ? beforeEvents(work) : work();
}

/** Begins a turn and leaves, so that no connection is kept: the turn goes on. Rejects with `ApiError` where it has not begun, for all that is known. */
export function beginTurn(path: string, body: object): Promise<void> {
  return answered({ method: 'POST', path, body, accept: 'text/event-stream' }, isBegun);
}

async function isBegun({ body: stream }: Response): Promise<void> {
  for await (const { type, data } of stream === null ? [] : eventsIn(stream)) {
    if (type === 'open' && data['state'] === 'queued') return; // it begins later
    if ((type === 'open' || type === 'turn') && data['turn'] !== null) return;
    const end = type === 'turn' ? (data['event'] as TurnEvent) : null;
    if (end?.type !== 'turn-end') continue;
    if (end.reason === 'done') return; // there was nothing to go on with
    const { code, message } = end.error ?? { code: 'aborted', message: 'It was stopped before it began' };
    throw failed({ status: 409, code, message, cure: null }); // the message ends with the cure
  }
  const message = 'The connection ended before the message was taken';
  throw failed({ status: 0, code: 'unreachable', message, cure: { text: 'send it again: it is taken once' } });
}

interface PageRequest {
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
  readonly match?: string | null;
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

/**
 * What `take` reads of the answer; rejects with `ApiError`, whatever fails. What was asked over a connection that is lost is asked again: by
 * its key the server does it once, and says so where what it showed is shown only once.
 */
async function answered<T>(asked: PageRequest, take: (answer: Response) => Promise<T>): Promise<T> {
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
      if (error instanceof TypeError || signal.aborted)
        throw failed({
          status: 0,
          code: 'unreachable',
          message: 'Pith does not answer',
          cure: { text: 'start it', command: 'pith serve' },
        });
      throw failed({ status: 0, code: 'failed', message: error instanceof Error ? error.message : String(error), cure: null });
    }
  }
}

function requestOf({ method, body, match = null, accept }: PageRequest): RequestInit {
  const isFile = body instanceof Blob;
  // Most routes that delete take no body, and refuse one.
  const isSent = method !== 'GET' && (method !== 'DELETE' || body !== undefined);
  return {
    method,
    headers: {
      'x-pith-page': pageValue(),
      ...(accept === undefined ? {} : { accept }),
      ...(match === null ? {} : { 'if-match': match }),
      ...(method === 'GET' ? {} : { 'idempotency-key': newKey() }),
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
  if (answer.status === 401) void findPerson();
  const said = await valueOf<Readonly<Record<string, unknown>>>(answer).catch(() => ({})); // of a proxy, perhaps
  const error = answer.status === 412 ? CHANGED : ((said as { readonly error?: Partial<RefusedAnswer> }).error ?? {});
  const { code = 'failed', message = answer.statusText, cure = null } = error as Partial<RefusedAnswer>;
  return new ApiError({ status: answer.status, code, message, cure, answer: said });
}

const CHANGED = {
  code: 'write_conflict',
  message: 'Somebody else changed this since you opened it',
  cure: { text: 'look at what is there now, then do it again' },
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

/** An error that the server did not answer. */
function failed(said: Omit<RefusedAnswer, 'answer'>): ApiError {
  return new ApiError({ ...said, answer: {} });
}

/** Names a request. Browsers offer more for that only over https and on their own machine. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A text, such as an export. Rejects as `ask`. */
export function readText(path: string): Promise<string> {
  return answered({ method: 'GET', path }, (answer) => answer.text());
}
