import type { Diagnostic, ExtensionContext, JsonValue, SetupProvider } from 'pith';
import { SkillLibrary, skillsChanged } from 'pith/skill_registry';
import { RerankerProvider } from 'pith/skill_search';
import { config, type Config } from './config.ts';
import { EmbeddingProvider } from './contract.ts';
import { endpointOf, secretUsesOf } from './endpoint.ts';
import { Embedder } from './embedder.ts';
import { PatientEmbedder } from './patient-embedder.ts';
import { SkillReranker } from './reranker.ts';
import { embeddingSetup } from './setup.ts';

export default class Embedding implements SetupProvider {
  static readonly config = config;
  readonly #context: ExtensionContext<Config>;
  readonly #embedder: Embedder;
  /** null where no vectors are wanted. */
  readonly #patient: PatientEmbedder | null;

  constructor(context: ExtensionContext<Config>) {
    const { model, dimensions, embedding: rule } = context.config;
    this.#context = context;
    const embeddingModel = model === null ? null : dimensions === undefined ? model : `${model}:${dimensions}`;
    this.#embedder = new Embedder(context.config, context.clock, () =>
      endpointOf(context.config, (name, use) => context.getSecret(name, use)),
    );
    const rerankModel = rule === 'off' ? null : embeddingModel;
    const [patient, reranker] = rerankModel === null ? [null, null] : this.#reranking(context, rerankModel);
    this.#patient = patient;
    context.provide(EmbeddingProvider, { embeddingModel, embed: (...asked) => this.#embedder.embed(...asked) });
    context.provide(RerankerProvider, {
      rerankModel,
      evenIfWorse: rule === 'always',
      rerank: async (...asked) => reranker?.rerank(...asked) ?? asked[0].map(() => null),
    });
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

  #reranking(context: ExtensionContext<Config>, model: string): [PatientEmbedder, SkillReranker] {
    const { clock, logger, database, events } = context;
    const embedder = new PatientEmbedder({ model, embed: (...asked) => this.#embedder.embed(...asked), clock, logger });
    const library = () => context.find(SkillLibrary)[0] ?? null;
    const reranker = new SkillReranker({ model, embedder, database, library, clock, logger });
    context.own(() => reranker.close());
    context.own(events.handle(skillsChanged, () => reranker.follow()));
    return [embedder, reranker];
  }

  #setup() {
    return embeddingSetup(this.#context.config, (texts) => this.#embedder.embed(texts, { purpose: 'query' }));
  }
}
