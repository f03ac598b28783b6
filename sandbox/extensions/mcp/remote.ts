import type { FetchLike } from '@modelcontextprotocol/client';
import { guardedFetch, messageOf } from 'pith';

/** The largest message that a server may send. */
export const MOST_BYTES = 4 * 1024 * 1024;

/**
 * `fetch` for the server at that address, and for no other. What means that the connection is over, such as a server that went away or
 * has forgotten it, is told to `lost`. Headers, which may hold secrets, are never sent to another origin.
 */
export function serverFetch(address: string, lost: (why: string) => void): FetchLike {
  const fetch = guardedFetch({ allow: [address], elsewhere: 'refused', maxBytes: Infinity }); // each message is counted below
  return async (url, init = {}) => {
    let response: Response;
    try {
      response = await fetch(url, { ...init, redirect: 'manual' }); // the package follows those within the origin
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw gone(`it cannot be reached: ${messageOf(error instanceof Error && error.cause ? error.cause : error)}`);
    }
    const why = refusal(response, new URL(url), init);
    if (why === null) return capped(response, gone);
    await response.body?.cancel();
    throw gone(why);
  };

  function gone(why: string): Error {
    lost(why);
    return new Error(why);
  }
}

function refusal(response: Response, url: URL, { method, headers }: RequestInit): string | null {
  const { status } = response;
  const location = response.headers.get('location');
  if (status >= 300 && status < 400 && location !== null) {
    const { origin } = URL.canParse(location, url.href) ? new URL(location, url) : { origin: 'an address that cannot be read' };
    return origin === url.origin
      ? null
      : `it redirects to ${origin}, which Pith does not follow; if you trust that address, write it as url`;
  }
  if (method === 'GET') return null; // a stream for news is the server's choice
  if (status === 401 || status === 403) return `it refuses us (${status}); look at headers, and at the secrets that they name`;
  if ((status === 400 || status === 404) && new Headers(headers).has('mcp-session-id'))
    return `it does not know this connection any more (${status}); a new one is made: try again`;
  return null;
}

/** The response, whose stream breaks when one message is longer than allowed. */
function capped(response: Response, gone: (why: string) => Error): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  let size = 0;
  const cap = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const end = isStream ? lastBlankLine(chunk) : -1;
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
