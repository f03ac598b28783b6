import { messageOf, PithError, z } from 'pith';
import { guardedFetch } from '@pith/guarded-fetch';
import type { Endpoint } from './endpoint.ts';

const TIMEOUT_MS = 5_000;
const VERSION = '2023-06-01';
const response = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

/** Names that `GET <base>/models` lists. Rejects `model_auth` for a refused key, `model_unreachable` for anything else. */
export async function askModels({ apiKey, baseUrl, headers: own }: Endpoint, signal?: AbortSignal): Promise<readonly string[]> {
  const { host } = new URL(baseUrl);
  const ask = guardedFetch({ allow: [baseUrl], elsewhere: 'refused', timeoutMs: TIMEOUT_MS });
  try {
    const answer = await ask(`${baseUrl}/models?limit=100`, {
      headers: { 'x-api-key': apiKey, 'anthropic-version': VERSION, ...own },
      signal,
    });
    if (!answer.ok) {
      await answer.body?.cancel();
      if (answer.status === 401 || answer.status === 403)
        throw new PithError('model_auth', `${host} refused the key (status ${answer.status})`, { cure: 'check the key' });
      throw new Error(`status ${answer.status}`);
    }
    return response.parse(JSON.parse(await answer.text())).data.map((model) => model.id);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PithError) throw error;
    throw new PithError('model_unreachable', `${host} does not say which models it has: ${messageOf(error)}`, {
      cause: error,
      cure: 'check the address and the network',
    });
  }
}
