import { PithError, type ExtensionContext, type JsonValue, type ModelInfo, type ModelProvider, type SetupProvider } from 'pith';
import { askMeant, isListening, type Overriding, refuseOverruled } from '@pith/guarded-fetch';
import { chatModel } from './chat-model.ts';
import { config, type Config } from './config.ts';
import { addressInEnvironment, endpointOf, OPENAI, secretUsesOf } from './endpoint.ts';
import { askModels, listModels, contextWindowOf } from './listing.ts';
import { modelServers, openAiSetup } from './setup.ts';

type AskedModels = Parameters<NonNullable<SetupProvider['askModels']>>[0];

export default class OpenAiCompatible implements ModelProvider, SetupProvider {
  static readonly config = config;

  constructor(private readonly context: ExtensionContext<Config>) {}

  async models(prefix: string, signal?: AbortSignal): Promise<readonly ModelInfo[]> {
    const names = await askModels(this.endpoint(prefix), signal);
    return names.map((name) => ({ name, contextWindow: this.contextWindow(name, prefix) }));
  }

  async findLocal(prefix: string, signal?: AbortSignal) {
    const { baseUrl, host } = this.endpoint(prefix);
    return (await isListening(baseUrl, signal)) ? host : null;
  }

  getModel(name: string, prefix: string) {
    const endpoint = this.endpoint(prefix);
    return {
      model: chatModel(endpoint, name, () => listModels(endpoint, this.context.logger)),
      contextWindow: this.contextWindow(name, prefix),
    };
  }

  secretUses() {
    return secretUsesOf(this.context.config, (name, use) => this.context.getSecret(name, use));
  }

  getSetupSchema() {
    return this.setup().getSetupSchema();
  }

  applyConfig(name: string, value: JsonValue) {
    if (name === 'base_url') refuseOverruled(this.overriding('openai'), typeof value === 'string' ? value : null, false);
    return this.setup().applyConfig(name, value);
  }

  onSetupComplete() {
    return this.setup().onSetupComplete();
  }

  getModelServers() {
    return modelServers(this.context.config, this.inEnvironment());
  }

  async askModels({ prefix, address, key }: AskedModels, signal?: AbortSignal) {
    const { config: set } = this.context;
    const place = address === null ? {} : { base_url: address === '' ? undefined : address };
    const typed = key === null ? {} : { api_key_env: set.providers[prefix]?.api_key_env ?? set.api_key_env ?? 'OPENAI_API_KEY' };
    const own = { headers: {}, ...set.providers[prefix], ...place, ...typed };
    const asked = { ...set, ...place, providers: { ...set.providers, [prefix]: own } };
    const getSecret: typeof this.context.getSecret = (name, use) => (use && key) ?? this.context.getSecret(name, use);
    return askMeant(this.overriding(prefix), { address, key }, () => askModels(endpointOf(prefix, asked, getSecret), signal));
  }

  private setup() {
    return openAiSetup(this.context.config, this.inEnvironment(), () => this.models('openai'));
  }

  private overriding(prefix: string): Overriding {
    return {
      name: 'OPENAI_BASE_URL',
      address: prefix === 'openai' ? this.inEnvironment() : null,
      defaultAddress: OPENAI,
      setup: 'pith setup openai_compatible',
      problem: (why, cure) => new PithError('config_invalid', why, { cure }),
    };
  }

  private inEnvironment(): string | null {
    return addressInEnvironment((name) => this.context.getSecret(name));
  }

  private endpoint(prefix: string) {
    return endpointOf(prefix, this.context.config, (name, use) => this.context.getSecret(name, use));
  }

  private contextWindow(name: string, prefix: string): number | null {
    return contextWindowOf(name, prefix, this.context.config.context_windows);
  }
}
