import { pageValue, person } from './session.ts';

/** An answer that is no success, in the server's words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly cure: string | null,
    /** All that was answered. */
    readonly answer: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Asks the server. Rejects with `ApiError`. */
export async function ask<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const isFile = body instanceof Blob;
  const answer = await fetch(path, {
    method,
    ...(signal === undefined ? {} : { signal }),
    headers: {
      'x-pith-page': pageValue(),
      ...(method === 'GET' ? {} : { 'content-type': isFile ? body.type : 'application/json', 'idempotency-key': crypto.randomUUID() }),
    },
    ...(method === 'GET' ? {} : { body: isFile ? body : JSON.stringify(body ?? {}) }),
  }).catch(() => {
    throw new ApiError(0, 'unreachable', 'Pith does not answer', 'start it with: pith serve', {});
  });
  const said = (await answer.json().catch(() => ({}))) as Readonly<Record<string, unknown>>;
  if (answer.ok) return said as T;
  if (answer.status === 401) person.value = null;
  const { code = 'failed', message = answer.statusText, cure = null } = (said['error'] ?? {}) as Partial<ApiError>;
  throw new ApiError(answer.status, code, message, cure, said);
}

export const read = <T>(path: string, signal?: AbortSignal): Promise<T> => ask<T>('GET', path, undefined, signal);
