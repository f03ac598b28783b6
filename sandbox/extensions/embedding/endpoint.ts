import { guardedFetch, PithError, type GuardedFetch } from 'pith';
import type { Config } from './config.ts';

const OPENAI = 'https://api.openai.com/v1';

/** Where requests go, and what authorises them. */
export interface Endpoint {
  readonly address: string;
  /** Of `address`, with its port where it has one. */
  readonly host: string;
  /** The secret that holds the key, or would. */
  readonly keyName: string;
  /** null: requests carry no key. */
  readonly apiKey: string | null;
  /** Asks this server, and no other that it names. */
  readonly fetch: GuardedFetch;
}

/** Throws `model_auth` where OpenAI itself is meant and there is no key. The key for OpenAI goes to no address that is named for embeddings only. */
export function endpointOf({ base_url: own, api_key_env: named }: Config, getSecret: (name: string) => string | null): Endpoint {
  const shared = sharedAddress(getSecret);
  const baseUrl = (own ?? shared ?? OPENAI).replace(/\/+$/, '');
  const { host } = new URL(baseUrl);
  const official = host === new URL(OPENAI).host;
  const isShared = official || (shared !== null && new URL(shared).host === host);
  const names = named === undefined ? ['EMBEDDING_API_KEY', ...(isShared ? ['OPENAI_API_KEY'] : [])] : [named];
  const keyName = names.find((name) => getSecret(name)) ?? names.at(-1)!;
  const apiKey = getSecret(keyName) || null;
  if (official && apiKey === null)
    throw new PithError('model_auth', 'embeddings: no key is set for OpenAI', {
      cure: `set ${keyName}, or extensions.embedding.base_url for another server`,
    });
  return { address: `${baseUrl}/embeddings`, host, keyName, apiKey, fetch: guardedFetch({ allow: [baseUrl], elsewhere: 'refused' }) };
}

function sharedAddress(getSecret: (name: string) => string | null): string | null {
  const text = getSecret('OPENAI_BASE_URL')?.trim() ?? '';
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? text : null;
}
