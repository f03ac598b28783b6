import { PithError, type LanguageModel, type ModelCallOptions, type ModelPart } from 'pith';
import { nearest } from '@pith/plain-text';
import { chatStream } from './chat-stream.ts';
import type { Endpoint } from './endpoint.ts';
import { withResultImages } from './result-images.ts';

/**
 * A model behind `POST <base>/chat/completions`. The client library, imported by the first call, makes requests and
 * errors; the answer is read here, because the library's own way costs five times as much for each token. `list` names
 * the server's models, for an error that says what there is.
 */
export function chatModel(endpoint: Endpoint, name: string, list: () => Promise<readonly string[]>): LanguageModel {
  return {
    specificationVersion: 'v3',
    provider: `${endpoint.prefix}.chat`,
    modelId: name,
    async doStream(options) {
      try {
        return await stream(endpoint, name, options);
      } catch (error) {
        throw await explainRefusal(error, endpoint, name, list);
      }
    },
  };
}

async function stream(endpoint: Endpoint, name: string, options: ModelCallOptions): Promise<{ stream: AsyncIterable<ModelPart> }> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  let body: AsyncIterable<Uint8Array> | undefined;
  const provider = createOpenAICompatible({
    name: endpoint.prefix,
    baseURL: endpoint.baseUrl,
    ...(endpoint.apiKey === null ? {} : { apiKey: endpoint.apiKey }),
    headers: { ...endpoint.headers },
    includeUsage: true,
    ...(endpoint.official ? { transformRequestBody: officialBody } : {}),
    fetch: async (input, init) => {
      const response = await endpoint.fetch(input, init);
      if (!response.ok || response.body === null) return response;
      body = response.body;
      return new Response('', { headers: response.headers });
    },
  });
  const answer = await provider.chatModel(name).doStream({ ...options, prompt: withResultImages(options.prompt) });
  if (body === undefined) return answer; // an answer without a body: the library knows what to say
  const first = await answer.stream.getReader().read(); // what it could not send: its only part before an answer
  const warnings = first.value?.type === 'stream-start' ? first.value.warnings : [];
  return { stream: chatStream(body, warnings) };
}

/** OpenAI's newer models refuse `max_tokens`; other servers know nothing else. */
function officialBody(body: Record<string, unknown>): Record<string, unknown> {
  const { max_tokens: limit, ...rest } = body;
  return limit === undefined ? body : { ...rest, max_completion_tokens: limit };
}

const MOST_NAMES = 5;

/** What a refused request means at this address: which key, or which models there are. Any other error as it is. */
async function explainRefusal(error: unknown, endpoint: Endpoint, name: string, list: () => Promise<readonly string[]>): Promise<unknown> {
  const statusCode = statusOf(error);
  if (statusCode === 401 || statusCode === 403) return keyRefused(endpoint, name, statusCode);
  if (statusCode === 404) return modelMissing(endpoint, name, await list());
  return error;
}

/** The server's own words are left out: they tend to repeat the key. */
function keyRefused({ prefix, host, keyName, apiKey }: Endpoint, name: string, statusCode: number): PithError {
  const where = `${prefix}/${name}`;
  const variable = keyName ?? 'a variable of your choice';
  if (apiKey === null) {
    const cure = `set ${variable}${keyName === null ? ` and name it in providers.${prefix}.api_key_env` : ''}`;
    return new PithError('model_auth', `model ${where}: ${host} wants a key (${statusCode}), and none is set`, { where, statusCode, cure });
  }
  return new PithError('model_auth', `model ${where}: ${host} refused the key that is set in ${variable} (${statusCode})`, {
    where,
    statusCode,
    cure: `set a valid key in ${variable}, or correct the address if ${host} is not meant`,
  });
}

function modelMissing({ prefix, host, baseUrl }: Endpoint, name: string, names: readonly string[]): PithError {
  const where = `${prefix}/${name}`;
  if (names.length === 0 || names.includes(name)) {
    return new PithError('model_unknown', `model ${where}: ${host} answered that there is no such model or address (404)`, {
      where,
      statusCode: 404,
      cure: `check the name, and that the address ${baseUrl} is right, usually with /v1 at its end`,
    });
  }
  const close = nearest(name, names, MOST_NAMES);
  const shown = close.length > 0 ? close : names.slice(0, MOST_NAMES);
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : '';
  return new PithError('model_unknown', `model ${where}: ${host} has no model '${name}' (404); it has ${shown.join(', ')}${more}`, {
    where,
    statusCode: 404,
    cure: `use one of them, such as ${prefix}/${shown[0]}`,
  });
}

function statusOf(error: unknown): number | null {
  return typeof error === 'object' && error !== null && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : null;
}
