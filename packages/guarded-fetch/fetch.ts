import type { GuardedRequest, OutgoingAnswer } from './outgoing-requests.ts';

/** Can be used wherever `fetch` can. */
export type GuardedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** The requests of a guard with the objects of `fetch`. */
export function fetchOver(ask: GuardedRequest): GuardedFetch {
  return async (input, { signal, redirect, ...rest } = {}) => {
    const given = input instanceof Request ? input : null;
    const stop = signal ?? given?.signal;
    stop?.throwIfAborted();
    // Of the address only Request's own rules matter here; it would refuse, and repeat, one with a password.
    const request = new Request(given ?? 'http://localhost/', rest);
    const { method, headers } = request;
    const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer()); // whole: a redirect may want it again
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
    throw new TypeError('fetch failed', { cause: error }); // a status or a header that there is not
  }
}

function streamOf(body: AsyncIterable<Uint8Array>, cancel: () => void): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next(); // what it rejects with is the stream's error
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}
