import { PithError } from 'pith';
import type { Config, ServerConfig } from './config.ts';

const DEFAULT_ADDRESS = 'https://api.anthropic.com';

export interface Endpoint {
  /** Ends with the version, without a slash. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Throws `model_auth` when no key is set. */
export function endpointOf(config: Config, getSecret: (name: string) => string | null): Endpoint {
  const own: Partial<ServerConfig> = config.providers['anthropic'] ?? {};
  const keyName = own.api_key_env ?? config.api_key_env ?? 'ANTHROPIC_API_KEY';
  const apiKey = getSecret(keyName);
  if (apiKey === null || apiKey === '') throw new PithError('model_auth', 'no key is set for Anthropic', { cure: `set ${keyName}` });
  const address = own.base_url ?? config.base_url ?? (getSecret('ANTHROPIC_BASE_URL')?.trim() || DEFAULT_ADDRESS);
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    throw new PithError('model_unreachable', 'ANTHROPIC_BASE_URL is not an http address', {
      cure: `unset it, or set it to something like ${DEFAULT_ADDRESS}`,
    });
  }
  return { baseUrl: versioned(address), apiKey, headers: { ...config.headers, ...own.headers } };
}

/** Other programs take this variable without the version, so both forms are accepted. */
function versioned(address: string): string {
  const trimmed = address.replace(/\/+$/, '');
  return /\/v\d+$/.test(trimmed) ? trimmed : `${trimmed}/v1`;
}
