import { messageOf, type Logger } from 'pith';
import { guardedRequest } from '@pith/guarded-fetch';
import { modelNames } from '@pith/server-answers';
import { headersOf, keyCure, type Endpoint } from './endpoint.ts';

const TIMEOUT_MS = 3_000;

/**
 * The names from `GET <base>/models`, in the server's order. Rejects `model_auth` for a refused key, `model_unreachable` for anything else.
 */
export function askModels(endpoint: Endpoint, signal?: AbortSignal): Promise<readonly string[]> {
  const { apiKey, baseUrl, host, guard } = endpoint;
  const asked = guardedRequest({ ...guard, timeoutMs: TIMEOUT_MS })(`${baseUrl}/models`, { headers: headersOf(endpoint), signal });
  return modelNames(host, asked, { isSent: apiKey !== null, cure: keyCure(endpoint) }, signal);
}

/** As `askModels`; on failure empty, with a log line. */
export async function listModels(endpoint: Endpoint, logger: Logger, signal?: AbortSignal): Promise<readonly string[]> {
  try {
    return await askModels(endpoint, signal);
  } catch (error) {
    signal?.throwIfAborted();
    logger.info('models could not be listed', { prefix: endpoint.prefix, reason: messageOf(error) });
    return [];
  }
}

/** Tokens, by the prefix of the model's name; the longest prefix wins. Only what the makers document. */
const KNOWN: ReadonlyMap<string, number> = new Map([
  ['gpt-5', 400_000],
  ['gpt-4.1', 1_047_576],
  ['gpt-4o', 128_000],
  ['gpt-4-turbo', 128_000],
  ['gpt-4', 8_192],
  ['gpt-3.5-turbo', 16_385],
  ['o1', 200_000],
  ['o3', 200_000],
  ['o4-mini', 200_000],
]);

/** null where it is unknown: a local server's window is what its owner has set, not what the model could have. */
export function contextWindowOf(name: string, prefix: string, overrides: Readonly<Record<string, number>>): number | null {
  return longest(new Map(Object.entries(overrides)), name) ?? (prefix === 'openai' ? longest(KNOWN, name) : null);
}

function longest(windows: ReadonlyMap<string, number>, name: string): number | null {
  let best: string | null = null;
  for (const key of windows.keys()) {
    const begins = name === key || (name.startsWith(key) && !/[a-z0-9]/i.test(name.charAt(key.length)));
    if (begins && (best === null || key.length > best.length)) best = key;
  }
  return best === null ? null : (windows.get(best) ?? null);
}
