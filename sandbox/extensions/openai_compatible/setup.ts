import { PithError, type JsonValue, type ModelInfo, type SettingsChange, type SetupProvider, type SetupSchema } from 'pith';
import { someOf } from '@pith/plain-text';
import type { Config } from './config.ts';

type ModelServers = Awaited<ReturnType<NonNullable<SetupProvider['getModelServers']>>>;

/** The servers that a person chooses from: those that are known by themselves, those of the settings, and any other. `there`: the address in the environment. */
export function modelServers({ base_url: shared, api_key_env: sharedKey, providers }: Config, there: string | null): ModelServers {
  const own = { base_url: shared, api_key_env: sharedKey, ...providers['openai'] };
  const named = Object.entries({ ...providers, openai: own }).flatMap(([prefix, { base_url: address, api_key_env: name }]) => {
    const isOther = prefix === 'ollama' || (prefix === 'openai' && there !== null);
    if (address === undefined || isOther) return [];
    const secret = name ?? (prefix === 'openai' ? 'OPENAI_API_KEY' : null);
    return [{ title: `${prefix} at ${new URL(address).host}`, prefix, secret, asksAddress: false, address, isLocal: false }];
  });
  return [
    { title: 'OpenAI', prefix: 'openai', secret: 'OPENAI_API_KEY', asksAddress: false, isDefault: true, isLocal: false },
    { title: 'Ollama on this machine', prefix: 'ollama', secret: null, asksAddress: false, isLocal: true },
    ...named,
    {
      title: 'Another server with the chat-completions API (LM Studio, vLLM, …)',
      prefix: 'other',
      secret: null,
      asksAddress: true,
      isLocal: false,
    },
  ];
}

/** Sets up the prefix `openai`: OpenAI itself, or any compatible server. `there`: the address in the environment. */
export function openAiSetup(config: Config, there: string | null, models: () => Promise<readonly ModelInfo[]>): SetupProvider {
  const own = config.providers['openai'];
  return {
    getSetupSchema(): SetupSchema {
      return {
        title: 'A server with the chat-completions API: OpenAI, LM Studio, vLLM, llama.cpp, Ollama and others',
        fields: [
          {
            name: 'base_url',
            kind: 'text',
            description: "The server's address, such as http://127.0.0.1:1234/v1; empty for OpenAI itself",
            current: own?.base_url ?? config.base_url ?? null,
          },
          {
            name: 'api_key',
            kind: 'secret',
            secret: 'OPENAI_API_KEY',
            description: `The key, where ${there === null ? 'the server' : `${there}, as OPENAI_BASE_URL says,`} wants one`,
          },
          {
            name: 'api_key_env',
            kind: 'text',
            description: 'The name of the variable with the key, if not OPENAI_API_KEY',
            current: own?.api_key_env ?? config.api_key_env ?? null,
          },
          { name: 'model', kind: 'text', description: 'The model that answers from now on, as the server names it' },
        ],
      };
    },
    applyConfig: changeOf,
    async onSetupComplete() {
      const names = (await models()).map(({ name }) => name);
      const answer = names.length === 1 ? 'model answers' : 'models answer';
      return `${names.length} ${answer}${names.length === 0 ? '' : `: ${someOf(names, 5)}`}`;
    },
  };
}

function changeOf(name: string, value: JsonValue): SettingsChange {
  if (typeof value !== 'string') throw new PithError('config_invalid', `'${name}' must be text`);
  const text = value.trim();
  if (name === 'base_url' || name === 'api_key_env')
    return text === ''
      ? { [`providers.openai.${name}`]: null, [`extensions.openai_compatible.${name}`]: null }
      : { [`providers.openai.${name}`]: text };
  if (name === 'model') return { 'models.default': text === '' ? null : `openai/${text}` };
  throw new PithError('config_invalid', `nothing here is named '${name}'`, { cure: 'base_url, api_key_env, model' });
}
