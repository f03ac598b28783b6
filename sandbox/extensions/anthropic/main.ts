import { PithError, type ExtensionContext, type JsonValue, type ModelInfo, type ModelProvider, type SetupProvider } from 'pith';
import { config, type Config } from './config.ts';
import { endpointOf, placeOf } from './endpoint.ts';
import { contextWindowOf, MODELS } from './known-models.ts';
import { askModels } from './listing.ts';
import { messagesModel } from './messages-model.ts';
import { anthropicSetup } from './setup.ts';

export default class Anthropic implements ModelProvider, SetupProvider {
  static readonly config = config;

  constructor(private readonly context: ExtensionContext<Config>) {}

  async models(): Promise<readonly ModelInfo[]> {
    return MODELS.map((name) => ({ name, contextWindow: contextWindowOf(name, this.context.config.context_windows) }));
  }

  secretUses() {
    const { name, use } = placeOf(this.context.config, (address) => this.context.getSecret(address));
    return [{ name: 'ANTHROPIC_BASE_URL' }, { name, use }];
  }

  getSetupSchema() {
    return this.setup().getSetupSchema();
  }

  applyConfig(name: string, value: JsonValue) {
    return this.setup().applyConfig(name, value);
  }

  onSetupComplete() {
    return this.setup().onSetupComplete();
  }

  getModelServers() {
    return [{ title: 'Anthropic (Claude)', prefix: 'anthropic', secret: 'ANTHROPIC_API_KEY', asksAddress: false, isLocal: false }];
  }

  askModels({ address, key }: Parameters<NonNullable<SetupProvider['askModels']>>[0], signal?: AbortSignal) {
    const { config: set } = this.context;
    const own = { headers: {}, ...set.providers['anthropic'], ...(address === null ? {} : { base_url: address }) };
    const asked = { ...set, providers: { ...set.providers, anthropic: own } };
    return askModels(
      endpointOf(asked, (name, use) => (key === null || use === undefined ? this.context.getSecret(name, use) : key)),
      signal,
    );
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
