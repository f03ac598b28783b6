import { messageOf, type Logger } from 'pith';
import { guardedRequest } from '@pith/guarded-fetch';
import { modelNames } from '@pith/server-answers';
import { headersOf, type Endpoint } from './endpoint.ts';

const TIMEOUT_MS = 3_000;

/** Names that `GET <base>/models` lists, in the server's order. Rejects `model_auth` for a refused key, `model_unreachable` for anything else. */
export function askModels(endpoint: Endpoint, signal?: AbortSignal): Promise<readonly string[]> {
  const { apiKey, baseUrl, host, guard } = endpoint;
  const asked = guardedRequest({ ...guard, timeoutMs: TIMEOUT_MS })(`${baseUrl}/models`, { headers: headersOf(endpoint), signal });
  return modelNames(host, asked, apiKey !== null, signal);
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
