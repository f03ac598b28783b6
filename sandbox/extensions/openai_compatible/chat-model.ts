import { codeOf, messageOf, PithError, type LanguageModel, type ModelCallOptions, type ModelPart } from 'pith';
import { hideKeys, nearest, printableLine } from '@pith/plain-text';
import { ServerError, serverWords } from '@pith/server-answers';
import { jsonOf } from '@pith/plain-data';
import { chatRequest } from './chat-request.ts';
import { chatStream } from './chat-stream.ts';
import { headersOf, keyCure, type Endpoint } from './endpoint.ts';

/** A model behind `POST <base>/chat/completions`. `list` gives the server's models, for error messages. */
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
  const { body, warnings } = chatRequest(name, options, endpoint.official);
  const url = `${endpoint.baseUrl}/chat/completions`;
  const headers = { ...headersOf(endpoint), ...definedOf(options.headers), 'content-type': 'application/json' };
  const signal = options.abortSignal;
  const answer = await endpoint.ask(url, { method: 'POST', headers, body: JSON.stringify(body), signal }).catch((error: unknown) => {
    if (signal?.aborted || codeOf(error, '') !== '') throw error;
    const { cause = error } = error as Error;
    throw new ServerError(`cannot connect: ${messageOf(cause)}`, { cause, url, isRetryable: true });
  });
  const { status, statusText, headers: named } = answer;
  if (status >= 200 && status < 300) {
    const tools = new Set(options.tools?.map((tool) => tool.name));
    return { stream: chatStream(answer.body ?? nothing(), { model: name, tools, warnings }, () => answer.cancel()) };
  }
  const responseBody = await answer.text();
  const data = jsonOf(responseBody);
  throw new ServerError(serverWords(responseBody) ?? (statusText || `status ${status}`), {
    url,
    statusCode: status,
    responseHeaders: Object.fromEntries(named),
    responseBody,
    data,
    isRetryable: status === 408 || status === 409 || status === 429 || status >= 500,
  });
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function definedOf(headers: ModelCallOptions['headers'] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

const MOST_NAMES = 5;
const MOST_WORDS = 200;

/** Explains a refused request: which key it needs, or which models there are. Returns any other error as it is. */
async function explainRefusal(error: unknown, endpoint: Endpoint, name: string, list: () => Promise<readonly string[]>): Promise<unknown> {
  const statusCode = statusOf(error);
  if (statusCode === 401 || statusCode === 403) return keyRefused(endpoint, name, error as ServerError & { readonly statusCode: number });
  if (statusCode === 404) return modelMissing(endpoint, name, await list());
  return error;
}

/** The server's words on a wrong key are left out, since they tend to repeat it; those on why access is forbidden are shown. */
function keyRefused(endpoint: Endpoint, name: string, { statusCode, message }: ServerError & { readonly statusCode: number }): PithError {
  const { prefix, host, keyName, apiKey } = endpoint;
  const words = statusCode === 403 ? `: ${printableLine(hideKeys(message), MOST_WORDS)}` : '';
  const where = `${prefix}/${name}`;
  const cure = keyCure(endpoint);
  if (apiKey === null)
    return new PithError('model_auth', `model ${where}: ${host} wants a key (${statusCode}), and none is set`, { where, statusCode, cure });
  return new PithError('model_auth', `model ${where}: ${host} refused the key that is set in ${keyName} (${statusCode})${words}`, {
    where,
    statusCode,
    cure: `${cure}, or correct the address if ${host} is not meant`,
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
