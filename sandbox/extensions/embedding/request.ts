import { messageOf, PithError, type Clock } from 'pith';
import { hideKeys, printableLine } from '@pith/plain-text';
import { serverWords } from '@pith/server-answers';
import type { Endpoint } from './endpoint.ts';

export interface EmbeddingRequest {
  readonly endpoint: Endpoint;
  readonly model: string;
  readonly dimensions: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/**
 * One request; a vector for each text. Rejects with a `PithError` in the server's words, which are left out where they might repeat the
 * key.
 */
export async function requestVectors(
  texts: readonly string[],
  { endpoint, model, dimensions, headers, timeoutMs, clock }: EmbeddingRequest,
  signal?: AbortSignal,
): Promise<readonly (readonly number[])[]> {
  const timeout = new AbortController();
  const cancel = clock.after(timeoutMs, () => timeout.abort());
  try {
    const answer = await endpoint.fetch(endpoint.address, {
      method: 'POST',
      redirect: 'error', // nobody else gets the texts
      headers: {
        'content-type': 'application/json',
        ...(endpoint.apiKey === null ? {} : { authorization: `Bearer ${endpoint.apiKey}` }),
        ...headers,
      },
      body: JSON.stringify({ model, input: texts, encoding_format: 'float', ...(dimensions === undefined ? {} : { dimensions }) }),
      signal: signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]),
    });
    const text = await answer.text();
    if (answer.ok) return vectorsIn(text, texts.length, endpoint.host);
    throw refusal(answer, endpoint, model, wordsOf(text));
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PithError) throw error;
    const why = timeout.signal.aborted ? `no answer within ${timeoutMs / 1000} s` : messageOf(causeOf(error));
    throw new PithError('model_unreachable', `embeddings: ${endpoint.host} cannot be asked: ${why}`, {
      retryable: true,
      cure: 'check that the server runs and extensions.embedding.base_url',
    });
  } finally {
    cancel();
  }
}

const LONGEST = 200;

/** The server's words, after a colon. */
function wordsOf(said: unknown): string {
  const words = serverWords(said);
  return words === null ? '' : `: ${printableLine(hideKeys(words), LONGEST)}`;
}

function refusal({ status, headers }: Response, { host, keyName, apiKey, address }: Endpoint, model: string, words: string): PithError {
  if (status === 401 || status === 403) {
    const what = apiKey === null ? `wants a key (${status}), and none is set` : `refused the key that is set in ${keyName} (${status})`;
    return new PithError('model_auth', `embeddings: ${host} ${what}`, { statusCode: status, cure: `set a valid key in ${keyName}` });
  }
  if (status === 404)
    return new PithError(
      'model_unknown',
      `embeddings: ${host} answered that there is no model '${model}' or no such address (404)${words}`,
      {
        statusCode: status,
        cure: `check extensions.embedding.model, and that ${address} is right`,
      },
    );
  if (status === 429 || status >= 500) {
    const code = status === 429 ? 'model_rate_limited' : 'model_failed';
    const seconds = Number(headers.get('retry-after') ?? Number.NaN);
    return new PithError(code, `embeddings: ${host} answered ${status}${words}`, {
      statusCode: status,
      retryable: true,
      retryAfterMs: seconds >= 0 ? seconds * 1000 : undefined,
      cure: status === 429 ? 'wait, or raise the limit at the server' : `look at the server's log, and check that ${address} is right`,
    });
  }
  return new PithError('model_failed', `embeddings: ${host} refused the request (${status})${words}`, {
    statusCode: status,
    cure: 'check extensions.embedding: model, dimensions and batch',
  });
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}

/** The vectors of an answer in the order of its texts. Throws `model_failed` for anything but one vector of finite numbers for each. */
function vectorsIn(text: string, count: number, host: string): readonly (readonly number[])[] {
  const data = dataOf(text, host);
  if (data.length !== count) throw odd(host, `${data.length} vectors for ${count} texts`);
  const vectors: (readonly number[])[] = [];
  for (const [at, row] of (data as readonly Row[]).entries()) {
    const place = row?.index ?? at;
    const vector = row?.embedding;
    if (!Array.isArray(vector) || vector.length === 0 || !vector.every((value) => Number.isFinite(value)))
      throw odd(host, 'a vector that is not made of numbers');
    if (!Number.isInteger(place) || place < 0 || place >= count || vectors[place] !== undefined) throw odd(host, 'vectors in no order');
    if (vector.length !== (data as readonly Row[])[0]?.embedding?.length) throw odd(host, 'vectors of different lengths');
    vectors[place] = vector;
  }
  return vectors;
}

function dataOf(text: string, host: string): readonly unknown[] {
  let said: { readonly data?: unknown } | null;
  try {
    said = JSON.parse(text) as typeof said;
  } catch {
    // The parser's error says less than this.
    throw odd(host, `something that is not JSON${wordsOf(text)}`);
  }
  if (Array.isArray(said?.data)) return said.data;
  throw odd(host, `no vectors${wordsOf(said)}`); // some servers report a failure with status 200
}

type Row = { readonly index?: number; readonly embedding?: readonly number[] } | null;

function odd(host: string, what: string): PithError {
  return new PithError('model_failed', `embeddings: ${host} sent ${what}`, {
    cure: 'check that extensions.embedding.model names an embedding model of this server',
  });
}
