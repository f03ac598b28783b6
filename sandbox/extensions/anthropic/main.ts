import { PithError, type ExtensionContext, type JsonValue, type ModelInfo, type ModelProvider, type SetupProvider } from 'pith';
import { askMeant, type Overriding, refuseOverruled } from '@pith/guarded-fetch';
import { config, type Config } from './config.ts';
import { addressInEnvironment, ANTHROPIC, endpointOf, placeOf } from './endpoint.ts';
import { askModels } from './listing.ts';
import { messagesModel } from './messages-model.ts';
import { anthropicSetup, contextWindowOf, MODELS } from './setup.ts';

export default class Anthropic implements ModelProvider, SetupProvider {
  static readonly config = config;

  constructor(private readonly context: ExtensionContext<Config>) {}

  async models(_prefix: string, signal?: AbortSignal): Promise<readonly ModelInfo[]> {
    const names = await askModels(
      endpointOf(this.context.config, (secret, use) => this.context.getSecret(secret, use)),
      signal,
    );
    return names.map((name) => ({ name, contextWindow: contextWindowOf(name, this.context.config.context_windows) }));
  }

  secretUses() {
    const { name, use } = placeOf(this.context.config, (address) => this.context.getSecret(address));
    return [{ name: 'ANTHROPIC_BASE_URL' }, { name, use }];
  }

  getSetupSchema() {
    return this.setup().getSetupSchema();
  }

  applyConfig(name: string, value: JsonValue) {
    if (name === 'base_url') refuseOverruled(this.overriding(), typeof value === 'string' ? value : null, false);
    return this.setup().applyConfig(name, value);
  }

  onSetupComplete() {
    return this.setup().onSetupComplete();
  }

  getModelServers(): Awaited<ReturnType<NonNullable<SetupProvider['getModelServers']>>> {
    return [
      {
        title: 'Anthropic (Claude)',
        prefix: 'anthropic',
        secret: 'ANTHROPIC_API_KEY',
        asksAddress: false,
        isDefault: true,
        isLocal: false,
      },
    ];
  }

  async askModels({ address, key }: Parameters<NonNullable<SetupProvider['askModels']>>[0], signal?: AbortSignal) {
    const { config: set } = this.context;
    const place = address === null ? {} : { base_url: address === '' ? undefined : address };
    const own = { headers: {}, ...set.providers['anthropic'], ...place };
    const asked = { ...set, ...place, providers: { ...set.providers, anthropic: own } };
    const getSecret: typeof this.context.getSecret = (name, use) => (use && key) ?? this.context.getSecret(name, use);
    return askMeant(this.overriding(), { address, key }, () => askModels(endpointOf(asked, getSecret), signal));
  }

  private overriding(): Overriding {
    return {
      name: 'ANTHROPIC_BASE_URL',
      address: addressInEnvironment((name) => this.context.getSecret(name)),
      defaultAddress: ANTHROPIC,
      version: '/v1',
      setup: 'pith setup anthropic',
      problem: (why, cure) => new PithError('config_invalid', why, { cure }),
    };
  }

  private setup() {
    return anthropicSetup(this.context.config, (name, use) => this.context.getSecret(name, use));
  }

  getModel(name: string) {
    if (name === '')
      throw new PithError('model_unknown', 'a model of Anthropic needs a name', { cure: `name one, such as anthropic/${MODELS[0]}` });
    const endpoint = endpointOf(this.context.config, (secret, use) => this.context.getSecret(secret, use));
    return { model: messagesModel(endpoint, name), contextWindow: contextWindowOf(name, this.context.config.context_windows) };
  }
}
