import { PithError, type ExtensionContext, type JsonValue, type SettingsChange, type SetupProvider, type SetupSchema } from 'pith';
import type { Config } from './config.ts';
import { addressInEnvironment, endpointOf } from './endpoint.ts';

/** Sets up Claude models. */
export function anthropicSetup(config: Config, getSecret: ExtensionContext['getSecret']): SetupProvider {
  const own = config.providers['anthropic'];
  return {
    getSetupSchema(): SetupSchema {
      const there = addressInEnvironment(getSecret);
      return {
        title: 'Claude models of Anthropic',
        fields: [
          {
            name: 'base_url',
            kind: 'text',
            description: 'Another address of the same API; empty for Anthropic itself',
            current: own?.base_url ?? config.base_url ?? null,
          },
          {
            name: 'api_key',
            kind: 'secret',
            secret: 'ANTHROPIC_API_KEY',
            description: `The key${there === null ? '' : ` for ${there}, as ANTHROPIC_BASE_URL says`}`,
          },
          {
            name: 'api_key_env',
            kind: 'text',
            description: 'The name of the variable with the key, if not ANTHROPIC_API_KEY',
            current: own?.api_key_env ?? config.api_key_env ?? null,
          },
          { name: 'model', kind: 'text', description: `The model that answers from now on, such as ${MODELS[0]}` },
        ],
      };
    },
    applyConfig: changeOf,
    onSetupComplete: () => `Claude models are asked at ${new URL(endpointOf(config, getSecret).baseUrl).host}`,
  };
}

function changeOf(name: string, value: JsonValue): SettingsChange {
  if (typeof value !== 'string') throw new PithError('config_invalid', `'${name}' must be text`);
  const text = value.trim();
  if (name === 'base_url' || name === 'api_key_env')
    return text === ''
      ? { [`providers.anthropic.${name}`]: null, [`extensions.anthropic.${name}`]: null }
      : { [`providers.anthropic.${name}`]: text };
  if (name === 'model') return { 'models.default': text === '' ? null : `anthropic/${text}` };
  throw new PithError('config_invalid', `nothing here is named '${name}'`, { cure: 'base_url, api_key_env, model' });
}

/** Names to offer; others are accepted as well. */
export const MODELS: readonly [string, ...string[]] = ['claude-sonnet-4-5', 'claude-opus-4-5', 'claude-haiku-4-5'];

const STANDARD_WINDOW = 200_000;

/** The documented window of every Claude model since version 3; null for other names. */
export function contextWindowOf(name: string, overrides: Readonly<Record<string, number>>): number | null {
  return new Map(Object.entries(overrides)).get(name) ?? (name.startsWith('claude-') ? STANDARD_WINDOW : null);
}
