import { type ExtensionContext, PithError } from 'pith';
import type { OutgoingOptions } from '@pith/guarded-fetch';
import { headerProblem } from '@pith/server-answers';
import type { Config, ServerConfig } from './config.ts';

export const ANTHROPIC = 'https://api.anthropic.com';

export interface Endpoint {
  /** Ends with the version, without a slash. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The variable that the key is from. */
  readonly keyName: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Restricts requests to this server; redirects elsewhere are refused. */
  readonly guard: OutgoingOptions;
}

/** Throws `model_auth` when no key is set, and for a key or a header that cannot be sent. */
export function endpointOf(config: Config, getSecret: GetSecret): Endpoint {
  const { name, use, headers } = placeOf(config, getSecret);
  const apiKey = getSecret(name, use);
  const baseUrl = versioned(use.to);
  const { host } = new URL(baseUrl);
  if (apiKey === null || apiKey === '')
    throw new PithError('model_auth', `no key is set for ${use.isDefault ? 'Anthropic' : host}`, { cure: `set ${name}` });
  const problem = headerProblem(apiKey);
  if (problem !== null)
    throw new PithError('model_auth', `the key for ${host} that is set in ${name} cannot be sent: ${problem}`, {
      cure: `copy the key again, and set ${name}`,
    });
  for (const [header, value] of Object.entries(headers)) {
    const why = headerProblem(value, false);
    if (why !== null)
      throw new PithError('config_invalid', `the header '${header}' for ${host} cannot be sent: ${why}`, { cure: 'correct it in headers' });
  }
  return {
    baseUrl,
    apiKey,
    keyName: name,
    headers,
    guard: { allow: [baseUrl], elsewhere: 'refused', proxies: (variable) => getSecret(variable) },
  };
}

type GetSecret = ExtensionContext['getSecret'];

/** The name of the key, and the address that gets it. */
export function placeOf(
  config: Config,
  getSecret: GetSecret,
): {
  readonly name: string;
  readonly use: NonNullable<Parameters<ExtensionContext['getSecret']>[1]>;
  readonly headers: Readonly<Record<string, string>>;
} {
  const kept: Partial<ServerConfig> = config.providers['anthropic'] ?? {};
  const set = kept.base_url ?? config.base_url;
  const environment = addressInEnvironment(getSecret);
  const to = checked(environment ?? set ?? ANTHROPIC);
  // The environment overrides the settings. The key and headers that the settings give for another address are not sent to this one.
  const isOther = environment !== null && set !== undefined && new URL(environment).origin !== new URL(set).origin;
  const own: Partial<ServerConfig> = isOther ? {} : { ...config, ...kept, headers: { ...config.headers, ...kept.headers } };
  const name = own.api_key_env ?? 'ANTHROPIC_API_KEY';
  const isDefault = new URL(to).origin === ANTHROPIC;
  return { name, use: { part: 'anthropic', to, isDefault }, headers: own.headers ?? {} };
}

/** null: no address is set. Throws `model_unreachable` for an invalid one. */
export function addressInEnvironment(getSecret: GetSecret): string | null {
  const set = getSecret('ANTHROPIC_BASE_URL')?.trim() ?? '';
  return set === '' ? null : checked(set);
}

function checked(address: string): string {
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address;
  throw new PithError('model_unreachable', 'ANTHROPIC_BASE_URL is not an http address', {
    cure: `unset it, or set it to something like ${ANTHROPIC}`,
  });
}

/** Other programs use this variable without the version, so both forms are accepted. */
function versioned(address: string): string {
  const trimmed = address.replace(/\/+$/, '');
  return /\/v\d+$/.test(trimmed) ? trimmed : `${trimmed}/v1`;
}
