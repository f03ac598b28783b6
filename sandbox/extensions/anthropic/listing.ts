import { guardedFetch } from '@pith/guarded-fetch';
import { modelNames } from '@pith/server-answers';
import type { Endpoint } from './endpoint.ts';

const TIMEOUT_MS = 5_000;
const VERSION = '2023-06-01';

/** The names from `GET <base>/models`. Rejects `model_auth` for a refused key, `model_unreachable` for anything else. */
export function askModels({ apiKey, keyName, baseUrl, headers: own, guard }: Endpoint, signal?: AbortSignal): Promise<readonly string[]> {
  const headers = { 'x-api-key': apiKey, 'anthropic-version': VERSION, ...own };
  const asked = guardedFetch({ ...guard, timeoutMs: TIMEOUT_MS })(`${baseUrl}/models?limit=100`, { headers, signal });
  return modelNames(new URL(baseUrl).host, asked, { isSent: true, cure: `set a valid key in ${keyName}` }, signal);
}
