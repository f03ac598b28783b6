import { type ExtensionContext, PithError } from 'pith';
import { guardedFetch, type GuardedFetch } from '@pith/guarded-fetch';
import { headerProblem } from '@pith/server-answers';
import type { Config } from './config.ts';

const OPENAI = 'https://api.openai.com/v1';

/** The address of requests, and their credentials. */
export interface Endpoint {
  readonly address: string;
  /** Host of `address`, with its port if it has one. */
  readonly host: string;
  /** The secret for the key, set or not. */
  readonly keyName: string;
  /** null: requests carry no key. */
  readonly apiKey: string | null;
  /** Sends requests to this server only, without redirects elsewhere. */
  readonly fetch: GuardedFetch;
}

/** Throws `model_auth` where OpenAI itself lacks a key. OpenAI's key never goes to an address that is configured for embeddings only. */
export function endpointOf(config: Config, getSecret: GetSecret): Endpoint {
  const { baseUrl, names, official, use } = placeOf(config, getSecret);
  const keyName = names.find((name) => getSecret(name, use)) ?? names.at(-1)!;
  const apiKey = getSecret(keyName, use) || null;
  if (official && apiKey === null)
    throw new PithError('model_auth', 'embeddings: no key is set for OpenAI', {
      cure: `set ${keyName}, or extensions.embedding.base_url for another server`,
    });
  const { host } = new URL(baseUrl);
  const problem = apiKey === null ? null : headerProblem(apiKey);
  if (problem !== null)
    throw new PithError('model_auth', `embeddings: the key for ${host} that is set in ${keyName} cannot be sent: ${problem}`, {
      cure: `copy the key again, and set ${keyName}`,
    });
  const fetch = guardedFetch({ allow: [baseUrl], elsewhere: 'refused', proxies: (name) => getSecret(name) });
  return { address: `${baseUrl}/embeddings`, host, keyName, apiKey, fetch };
}

/** The address and the secrets that it gets. A key that serves other purposes too is not sent anywhere while no model is set. */
export function secretUsesOf(
  config: Config,
  getSecret: GetSecret,
): readonly { readonly name: string; readonly use?: NonNullable<Parameters<ExtensionContext['getSecret']>[1]> }[] {
  const { names, use } = placeOf(config, getSecret);
  const own = config.model === null ? names.filter((name) => name !== 'OPENAI_API_KEY') : names;
  return [{ name: 'OPENAI_BASE_URL' }, ...own.map((name) => ({ name, use }))];
}

type GetSecret = ExtensionContext['getSecret'];

function placeOf({ base_url: own, api_key_env: named }: Config, getSecret: GetSecret) {
  const shared = sharedAddress(getSecret);
  const baseUrl = (own ?? shared ?? OPENAI).replace(/\/+$/, '');
  const { host } = new URL(baseUrl);
  const official = host === new URL(OPENAI).host;
  const isShared = official || (shared !== null && new URL(shared).host === host);
  const names = named === undefined ? ['EMBEDDING_API_KEY', ...(isShared ? ['OPENAI_API_KEY'] : [])] : [named];
  const use: NonNullable<Parameters<ExtensionContext['getSecret']>[1]> = {
    to: baseUrl,
    isDefault: new URL(baseUrl).origin === new URL(OPENAI).origin,
  };
  return { baseUrl, names, official, use };
}

function sharedAddress(getSecret: GetSecret): string | null {
  const text = getSecret('OPENAI_BASE_URL')?.trim() ?? '';
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? text : null;
}
