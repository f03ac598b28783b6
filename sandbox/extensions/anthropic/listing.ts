import { messageOf, PithError } from 'pith';
import { guardedFetch } from '@pith/guarded-fetch';
import { hideKeys, printableLine } from '@pith/plain-text';
import { modelNames, serverWords } from '@pith/server-answers';
import type { Endpoint } from './endpoint.ts';

const TIMEOUT_MS = 5_000;
const VERSION = '2023-06-01';
const LONGEST = 200;

/** Names that `GET <base>/models` lists. Rejects `model_auth` for a refused key, `model_unreachable` for anything else. */
export async function askModels({ apiKey, baseUrl, headers: own, guard }: Endpoint, signal?: AbortSignal): Promise<readonly string[]> {
  const { host } = new URL(baseUrl);
  const ask = guardedFetch({ ...guard, timeoutMs: TIMEOUT_MS });
  try {
    const answer = await ask(`${baseUrl}/models?limit=100`, {
      headers: { 'x-api-key': apiKey, 'anthropic-version': VERSION, ...own },
      signal,
    });
    const text = await answer.text();
    if (!answer.ok) {
      if (answer.status === 401 || answer.status === 403)
        throw new PithError('model_auth', `${host} refused the key (status ${answer.status})`, { cure: 'check the key' });
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
      messageOf(error) === 'fetch failed'
        ? `nothing answers at ${host}`
        : `${host} does not say which models it has: ${printableLine(hideKeys(messageOf(error)), LONGEST)}`,
      {
        cause: error,
        cure: 'check the address and the network',
      },
    );
  }
}
