import type { FetchLike } from '@modelcontextprotocol/client';
import { guardedFetch } from '@pith/guarded-fetch';
import { printableLine } from '@pith/plain-text';
import { type Clock, codeOf, messageOf } from 'pith';
import { MOST_BYTES } from './bounded-transport.ts';

/**
 * `fetch` for the server at that address, and for no other. What means that the connection is over, such as a server that went away or
 * has forgotten it, is passed to `lost`. Headers, which may contain secrets, are never sent to another origin.
 */
export function serverFetch(
  address: string,
  { name, hasLogin, lost }: { readonly name: string; readonly hasLogin: boolean; lost(why: string): void },
): FetchLike {
  const fetch = guardedFetch({ allow: [address], elsewhere: 'refused', maxBytes: Infinity }); // each message is counted below
  return async (url, init = {}) => {
    let response: Response;
    try {
      response = await fetch(url, { ...init, redirect: 'manual' }); // the package follows those within the origin
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw gone(`it cannot be reached: ${unreachable(error)}`);
    }
    if (init.method === 'GET') return isStream(response) || isRedirect(response) ? capped(response, gone) : noStream(response);
    if (response.status === 401 && hasLogin) return response; // the package has the login renewed, and asks once more
    const why = refusal(response, { name, hasLogin, url: new URL(url), headers: init.headers });
    if (why === null) return capped(response, gone);
    throw gone(`${why}${await wordsOf(response)}`);
  };

  function gone(why: string): Error {
    lost(why);
    return new Error(why);
  }
}

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there; check the address, and that the server runs',
  ENOTFOUND: 'there is no such host; check the address',
  EAI_AGAIN: 'its name cannot be looked up now; check the network',
  ECONNRESET: 'the connection broke; check the address, and that the server runs',
  UND_ERR_SOCKET: 'the connection broke; check the address, and that the server runs',
  ENETUNREACH: 'no network leads there; check the network',
  EHOSTUNREACH: 'no network leads there; check the network',
  ETIMEDOUT: 'nothing answers there; check the address and the network',
  UND_ERR_CONNECT_TIMEOUT: 'nothing answers there; check the address and the network',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak https; write http:// in url',
};

/** Why nothing came back, and what to do. */
export function unreachable(error: unknown): string {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return UNREACHABLE[codeOf(cause, '')] ?? messageOf(cause);
}

function isStream({ ok, headers }: Response): boolean {
  return ok && headers.get('content-type')?.startsWith('text/event-stream') === true;
}

function isRedirect({ status }: Response): boolean {
  return status >= 300 && status < 400;
}

/** A stream of news is the server's choice: many that have none answer with a page, or that there is nothing. */
async function noStream(response: Response): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, { status: 405 });
}

/** Why the connection is over, as the end of a sentence; null: it is not. */
export function refusal(
  { status, headers, ok }: Response,
  asking: { readonly name: string; readonly hasLogin: boolean; readonly url: URL; readonly headers?: RequestInit['headers'] },
): string | null {
  const { name, hasLogin, url } = asking;
  const asked = new Headers(asking.headers);
  const location = headers.get('location');
  if (status >= 300 && status < 400 && location !== null) {
    const { origin } = URL.canParse(location, url.href) ? new URL(location, url) : { origin: 'an address that cannot be read' };
    return origin === url.origin
      ? null
      : `it redirects to ${origin}, which Pith does not follow; if you trust that address, write it as url`;
  }
  if (status === 401 || status === 403) {
    if (hasLogin) return `its login does not allow that (${status}); run: pith mcp login ${name}`;
    if (asked.has('authorization')) return `it refuses us (${status}); look at headers, and at the secrets that they name`;
    return `it wants a login (${status}); run: pith mcp login ${name}, or name a key in headers`;
  }
  if (asked.has('mcp-session-id') && (status === 400 || status === 404))
    return `it does not know this connection any more (${status}); a new one is made: try again`;
  if (asked.has('mcp-protocol-version')) return null; // the call fails, and the connection stays
  if (status === 404) return 'there is nothing at its address (404); correct url';
  if (status === 405) return 'its address takes no messages (405), as one of type sse, which Pith does not support';
  if (!ok) return `it answers with status ${status}`;
  const type = headers.get('content-type')?.split(';')[0]?.trim() ?? '';
  return type === 'text/html' ? 'it answers with a page (text/html) and not with a message; correct url' : null;
}

const MOST_WORDS = 200;

/** What it says of it, where that is short and no page. */
async function wordsOf(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? '';
  const size = Number(response.headers.get('content-length') ?? Infinity);
  if (!/json|text\/plain/u.test(type) || size > MOST_BYTES / 1024) {
    await response.body?.cancel();
    return '';
  }
  const text = printableLine((await response.text().catch(() => '')).trim(), MOST_WORDS);
  return text === '' ? '' : `: ${text}`;
}

/** The response, whose stream breaks when one message is longer than allowed. */
function capped(response: Response, gone: (why: string) => Error): Response {
  if (response.body === null) return response;
  const isEvents = isStream(response);
  let size = 0;
  const cap = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const end = isEvents ? lastBlankLine(chunk) : -1;
      size = end < 0 ? size + chunk.length : chunk.length - end;
      if (size > MOST_BYTES) controller.error(gone(`it sent a message longer than ${MOST_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(cap), { status, statusText, headers });
}

/** Where the last event in it ends; -1: no event ends in it. */
function lastBlankLine(chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  return Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n'));
}

const SHORTEST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/** When a stream that has ended is asked for again: never sooner than the server says, and later and later where it ends at once. */
export function patientRetries(clock: Clock): (ask: () => void, delay: number) => () => void {
  let [times, last] = [0, -Infinity];
  return (ask, delay) => {
    times = clock.now() - last > 2 * LONGEST_PAUSE_MS ? 0 : times + 1;
    last = clock.now();
    return clock.after(Math.min(LONGEST_PAUSE_MS, Math.max(delay, SHORTEST_PAUSE_MS * 2 ** times)), ask);
  };
}
