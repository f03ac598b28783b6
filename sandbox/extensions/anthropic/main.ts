import { PithError, type ExtensionContext, type ModelInfo, type ModelProvider } from 'pith';
import { config, type Config } from './config.ts';
import { endpointOf } from './endpoint.ts';
import { contextWindowOf, MODELS } from './known-models.ts';
import { messagesModel } from './messages-model.ts';

export default class Anthropic implements ModelProvider {
  static readonly config = config;

  constructor(private readonly context: ExtensionContext<Config>) {}

  async models(): Promise<readonly ModelInfo[]> {
    return MODELS.map((name) => ({ name, contextWindow: contextWindowOf(name, this.context.config.context_windows) }));
  }

  getModel(name: string) {
    if (name === '')
      throw new PithError('model_unknown', 'a model of Anthropic needs a name', { cure: `name one, such as anthropic/${MODELS[0]}` });
    const endpoint = endpointOf(this.context.config, (secret) => this.context.getSecret(secret));
    return { model: messagesModel(endpoint, name), contextWindow: contextWindowOf(name, this.context.config.context_windows) };
  }
}
