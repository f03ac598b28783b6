import type { ExtensionContext, JsonValue, SetupProvider } from 'pith';
import { config, type Config } from './config.ts';
import { EmbeddingProvider, type EmbedOptions } from './contract.ts';
import { endpointOf, secretUsesOf } from './endpoint.ts';
import { Embedder } from './embedder.ts';
import { embeddingSetup } from './setup.ts';

export default class Embedding implements EmbeddingProvider, SetupProvider {
  static readonly config = config;
  static readonly protocols = [EmbeddingProvider];
  readonly embeddingModel: string | null;
  readonly #context: ExtensionContext<Config>;
  readonly #embedder: Embedder;

  constructor(context: ExtensionContext<Config>) {
    const { model, dimensions } = context.config;
    this.#context = context;
    this.embeddingModel = model === null ? null : dimensions === undefined ? model : `${model}:${dimensions}`;
    this.#embedder = new Embedder(context.config, context.clock, () =>
      endpointOf(context.config, (name, use) => context.getSecret(name, use)),
    );
  }

  embed(texts: readonly string[], options: EmbedOptions, signal?: AbortSignal) {
    return this.#embedder.embed(texts, options, signal);
  }

  secretUses() {
    return secretUsesOf(this.#context.config, (name) => this.#context.getSecret(name));
  }

  getSetupSchema() {
    return this.#setup().getSetupSchema();
  }

  applyConfig(name: string, value: JsonValue) {
    return this.#setup().applyConfig(name, value);
  }

  onSetupComplete() {
    return this.#setup().onSetupComplete();
  }

  #setup() {
    return embeddingSetup(this.#context.config, (texts) => this.embed(texts, { purpose: 'query' }));
  }
}
