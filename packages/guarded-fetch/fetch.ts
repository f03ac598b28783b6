import type { GuardedRequest, OutgoingAnswer } from './outgoing-requests.ts';

/** Has the signature of `fetch`. */
export type GuardedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Offers a guarded request with the objects of `fetch`. */
export function fetchOver(ask: GuardedRequest): GuardedFetch {
  return async (input, { signal, redirect, ...rest } = {}) => {
    const given = input instanceof Request ? input : null;
    const stop = signal ?? given?.signal;
    stop?.throwIfAborted();
    // Only Request's rules for the rest matter here. It gets another address, since it would refuse and quote one with a password.
    const request = new Request(given ?? 'http://localhost/', rest);
    const { method, headers } = request;
    const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer()); // read whole, because a redirect may need it again
    return responseOf(
      await ask(given?.url ?? String(input), { method, headers: Object.fromEntries(headers), body, redirect, signal: stop }),
    );
  };
}

function responseOf(answer: OutgoingAnswer): Response {
  const { url, status, statusText, body, cancel } = answer;
  try {
    const headers = new Headers(answer.headers as [string, string][]);
    const response = new Response(body === null ? null : streamOf(body, cancel), { status, statusText, headers });
    return Object.defineProperty(response, 'url', { value: url });
  } catch (error) {
    cancel();
    throw new TypeError('fetch failed', { cause: error }); // an invalid status or header
  }
}

function streamOf(body: AsyncIterable<Uint8Array>, cancel: () => void): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next(); // its rejection becomes the stream's error
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}
