import type { Diagnostic, ExtensionContext, JsonValue, SetupProvider } from 'pith';
import { SkillLibrary, skillsChanged } from 'pith/skill_registry';
import { RerankerProvider } from 'pith/skill_search';
import { config, type Config } from './config.ts';
import { EmbeddingProvider, type EmbedOptions } from './contract.ts';
import { endpointOf, secretUsesOf } from './endpoint.ts';
import { Embedder } from './embedder.ts';
import { PatientEmbedder } from './patient-embedder.ts';
import { SkillReranker } from './reranker.ts';
import { embeddingSetup } from './setup.ts';

export default class Embedding implements EmbeddingProvider, RerankerProvider, SetupProvider {
  static readonly config = config;
  static readonly protocols = [EmbeddingProvider, RerankerProvider];
  readonly embeddingModel: string | null;
  readonly rerankModel: string | null;
  readonly evenIfWorse: boolean;
  readonly #context: ExtensionContext<Config>;
  readonly #embedder: Embedder;
  readonly #patient: PatientEmbedder | null;
  /** null where no vectors are wanted. */
  readonly #reranker: SkillReranker | null;

  constructor(context: ExtensionContext<Config>) {
    const { model, dimensions, embedding: rule } = context.config;
    this.#context = context;
    this.embeddingModel = model === null ? null : dimensions === undefined ? model : `${model}:${dimensions}`;
    this.#embedder = new Embedder(context.config, context.clock, () =>
      endpointOf(context.config, (name, use) => context.getSecret(name, use)),
    );
    this.rerankModel = rule === 'off' ? null : this.embeddingModel;
    this.evenIfWorse = rule === 'always';
    [this.#patient, this.#reranker] = this.#reranking(context);
  }

  embed(texts: readonly string[], options: EmbedOptions, signal?: AbortSignal) {
    return this.#embedder.embed(texts, options, signal);
  }

  async rerank(...asked: Parameters<RerankerProvider['rerank']>): ReturnType<RerankerProvider['rerank']> {
    return this.#reranker?.rerank(...asked) ?? asked[0].map(() => null);
  }

  async findings(): Promise<readonly Diagnostic[]> {
    return (await this.#patient?.findings()) ?? [];
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

  #reranking(context: ExtensionContext<Config>): [PatientEmbedder, SkillReranker] | [null, null] {
    if (this.rerankModel === null) return [null, null];
    const { clock, logger, database, events } = context;
    const model = this.rerankModel;
    const embedder = new PatientEmbedder({ model, embed: (...asked) => this.embed(...asked), clock, logger });
    const library = () => context.find(SkillLibrary)[0] ?? null;
    const reranker = new SkillReranker({ model, embedder, database, library, clock, logger });
    context.own(() => reranker.close());
    context.own(events.handle(skillsChanged, () => reranker.follow()));
    return [embedder, reranker];
  }

  #setup() {
    return embeddingSetup(this.#context.config, (texts) => this.embed(texts, { purpose: 'query' }));
  }
}
