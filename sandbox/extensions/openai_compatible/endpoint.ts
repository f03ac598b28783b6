import { type ExtensionContext, PithError } from 'pith';
import { guardedRequest, type GuardedRequest, type OutgoingOptions } from '@pith/guarded-fetch';
import { headerProblem } from '@pith/server-answers';
import type { Config, ServerConfig } from './config.ts';

export const OPENAI = 'https://api.openai.com/v1';
const DEFAULTS: Readonly<Record<string, string>> = { openai: OPENAI, ollama: 'http://127.0.0.1:11434/v1' };

/** The address of requests of one prefix, and their credentials. */
export interface Endpoint {
  readonly prefix: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Host of `baseUrl`, with its port if it has one. */
  readonly host: string;
  /** The secret for the key; null: no key is known to be needed. */
  readonly keyName: string | null;
  /** null: requests carry no key. */
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** OpenAI's own service, which has a few parameters of its own. */
  readonly official: boolean;
  /** Restricts requests to this server; redirects elsewhere are refused. */
  readonly guard: OutgoingOptions;
  readonly ask: GuardedRequest;
}

/**
 * Throws `model_unknown` for a prefix without an address, `model_auth` when OpenAI's own service has no key, and for a key or a header that
 * cannot be sent.
 */
export function endpointOf(prefix: string, config: Config, getSecret: GetSecret): Endpoint {
  const { baseUrl, keyName, headers } = placeOf(prefix, config, getSecret);
  const { host, hostname } = new URL(baseUrl);
  const official = hostname === new URL(OPENAI).hostname;
  const use = useOf(prefix, baseUrl);
  const apiKey = keyName === null ? null : getSecret(keyName, use) || null;
  // Only OpenAI's own service is known to need a key; servers at other addresses often need none, and report it when they do.
  if (official && apiKey === null) {
    throw new PithError('model_auth', 'no key is set for OpenAI', {
      cure: `set ${keyName ?? 'OPENAI_API_KEY'}, or OPENAI_BASE_URL for another server`,
    });
  }
  const problem = apiKey === null ? null : headerProblem(apiKey);
  if (problem !== null)
    throw new PithError('model_auth', `the key for ${host} that is set in ${keyName} cannot be sent: ${problem}`, {
      cure: `copy the key again, and set ${keyName}`,
    });
  for (const [name, value] of Object.entries(headers)) {
    const why = headerProblem(value, false);
    if (why !== null)
      throw new PithError('config_invalid', `the header '${name}' for ${host} cannot be sent: ${why}`, { cure: 'correct it in headers' });
  }
  const guard: OutgoingOptions = { allow: [baseUrl], elsewhere: 'refused', proxies: (name) => getSecret(name) };
  return { prefix, baseUrl, host, keyName, apiKey, official, guard, ask: guardedRequest(guard), headers };
}

/** What a person does where the server wants a key, or refuses the one that was sent. */
export function keyCure({ prefix, keyName, apiKey }: Pick<Endpoint, 'prefix' | 'keyName' | 'apiKey'>): string {
  const variable = keyName ?? 'a variable of your choice';
  if (apiKey !== null) return `set a valid key in ${variable}`;
  return `set ${variable}${keyName === null ? ` and name it in providers.${prefix}.api_key_env` : ''}`;
}

/** The key's header, and the headers of the settings. */
export function headersOf({ apiKey, headers }: Pick<Endpoint, 'apiKey' | 'headers'>): Readonly<Record<string, string>> {
  return { ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }), ...headers };
}

/** The addresses and the secrets that they get, for all prefixes. A prefix without an address gets none. */
export function secretUsesOf(
  config: Config,
  getSecret: GetSecret,
): readonly { readonly name: string; readonly use?: NonNullable<Parameters<ExtensionContext['getSecret']>[1]> }[] {
  const prefixes = new Set(['openai', ...Object.keys(config.providers)]);
  const keys = [...prefixes].flatMap((prefix) => {
    try {
      const { baseUrl, keyName } = placeOf(prefix, config, getSecret);
      return keyName === null ? [] : [{ name: keyName, use: useOf(prefix, baseUrl) }];
    } catch {
      return []; // it has no address, which is reported when a model of it is requested
    }
  });
  return [{ name: 'OPENAI_BASE_URL' }, ...keys];
}

type GetSecret = ExtensionContext['getSecret'];

function useOf(prefix: string, baseUrl: string): NonNullable<Parameters<ExtensionContext['getSecret']>[1]> {
  return { part: prefix, to: baseUrl, isDefault: new URL(baseUrl).origin === new URL(OPENAI).origin };
}

function placeOf(prefix: string, config: Config, getSecret: GetSecret) {
  const environment = prefix === 'openai' ? addressInEnvironment(getSecret) : null;
  const shared: Partial<ServerConfig> = prefix === 'openai' ? config : {};
  const kept: Partial<ServerConfig> = { ...shared, ...config.providers[prefix] };
  const set = kept.base_url ?? null;
  // The environment overrides the settings. The key and headers that the settings give for another address are not sent to this one.
  const isOther = environment !== null && set !== null && new URL(environment).origin !== new URL(set).origin;
  const { api_key_env: named, headers }: Partial<ServerConfig> = isOther
    ? {}
    : { ...kept, headers: { ...shared.headers, ...config.providers[prefix]?.headers } };
  const address = environment ?? set ?? DEFAULTS[prefix] ?? null;
  if (address === null) {
    throw new PithError('model_unknown', `no address is set for models of '${prefix}'`, { cure: `set providers.${prefix}.base_url` });
  }
  const keyName = named ?? (prefix === 'openai' ? 'OPENAI_API_KEY' : null);
  return { baseUrl: address.replace(/\/+$/, ''), keyName, headers: headers ?? {} };
}

/** null: no address is set. Throws `model_unreachable` for an invalid one. */
export function addressInEnvironment(getSecret: GetSecret): string | null {
  const trimmed = getSecret('OPENAI_BASE_URL')?.trim() ?? '';
  if (trimmed === '') return null;
  if (!URL.canParse(trimmed) || !/^https?:$/.test(new URL(trimmed).protocol)) {
    throw new PithError('model_unreachable', 'OPENAI_BASE_URL is not an http address', {
      cure: 'set it to something like http://127.0.0.1:1234/v1',
    });
  }
  return trimmed;
}
