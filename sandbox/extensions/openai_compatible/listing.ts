import { messageOf, PithError, type Logger } from 'pith';
import { guardedRequest } from '@pith/guarded-fetch';
import { hideKeys, printableLine } from '@pith/plain-text';
import { modelNames, serverWords } from '@pith/server-answers';
import { headersOf, type Endpoint } from './endpoint.ts';

const TIMEOUT_MS = 3_000;
const LONGEST = 200;

/** Names that `GET <base>/models` lists, in the server's order. Rejects `model_auth` for a refused key, `model_unreachable` for anything else. */
export async function askModels(endpoint: Endpoint, signal?: AbortSignal): Promise<readonly string[]> {
  const { apiKey, baseUrl, host } = endpoint;
  const ask = guardedRequest({ ...endpoint.guard, timeoutMs: TIMEOUT_MS });
  try {
    const answer = await ask(`${baseUrl}/models`, { headers: headersOf(endpoint), signal });
    const text = await answer.text();
    if (answer.status < 200 || answer.status > 299) {
      if (answer.status === 401 || answer.status === 403)
        throw new PithError('model_auth', `${host} ${apiKey === null ? 'wants a key' : 'refused the key'} (status ${answer.status})`, {
          cure: 'check the key',
        });
      throw new Error([`status ${answer.status}`, serverWords(text) ?? []].flat().join(', '));
    }
    const names = modelNames(text);
    if ('words' in names) throw new Error(`it sent ${names.words}`);
    return names;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PithError) throw error;
    throw new PithError(
      'model_unreachable',
      messageOf(error) === 'fetch failed' ? `nothing answers at ${host}` : `${host} does not say which models it has: ${shown(error)}`,
      {
        cause: error,
        cure: 'check the address, and that the server runs',
      },
    );
  }
}

function shown(error: unknown): string {
  return printableLine(hideKeys(messageOf(error)), LONGEST);
}

/** As `askModels`; empty, with a log line, when it cannot be asked. */
export async function listModels(endpoint: Endpoint, logger: Logger, signal?: AbortSignal): Promise<readonly string[]> {
  try {
    return await askModels(endpoint, signal);
  } catch (error) {
    signal?.throwIfAborted();
    logger.info('models could not be listed', { prefix: endpoint.prefix, reason: messageOf(error) });
    return [];
  }
}
