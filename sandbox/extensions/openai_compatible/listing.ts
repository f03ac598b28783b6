import { messageOf, z, type Logger } from 'pith';
import { guardedFetch } from '@pith/guarded-fetch';
import type { Endpoint } from './endpoint.ts';

const TIMEOUT_MS = 3_000;
const response = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

/** Names that `GET <base>/models` lists, in the server's order; empty, with a log line, when it cannot be asked. */
export async function listModels(endpoint: Endpoint, logger: Logger, signal?: AbortSignal): Promise<readonly string[]> {
  const headers = { ...(endpoint.apiKey === null ? {} : { authorization: `Bearer ${endpoint.apiKey}` }), ...endpoint.headers };
  const ask = guardedFetch({ allow: [endpoint.baseUrl], elsewhere: 'refused', timeoutMs: TIMEOUT_MS });
  try {
    const answer = await ask(`${endpoint.baseUrl}/models`, { headers, signal });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw new Error(`status ${answer.status}`);
    }
    return response.parse(JSON.parse(await answer.text())).data.map((model) => model.id);
  } catch (error) {
    signal?.throwIfAborted();
    logger.info('models could not be listed', { prefix: endpoint.prefix, reason: messageOf(error) });
    return [];
  }
}
