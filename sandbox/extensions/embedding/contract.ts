import { constant, defineProtocol, method } from 'pith';

export interface EmbedOptions {
  /** Some models treat what is searched for and what is searched differently. */
  readonly purpose: 'query' | 'document';
}

/** Turns texts into vectors whose cosine says how near their meanings are. */
export interface EmbeddingProvider {
  /** Names the model, and all else that its vectors depend on: those of different names are never compared. null: none is set up, and nothing is asked for. */
  readonly embeddingModel: string | null;
  /** A vector for each text, in their order, all of one length. Rejects with an error that says what to do. */
  embed(texts: readonly string[], options: EmbedOptions, signal?: AbortSignal): Promise<readonly (readonly number[])[]>;
}

export const EmbeddingProvider = defineProtocol<EmbeddingProvider>('text.embedding', {
  embeddingModel: constant(),
  embed: method({ timeoutMs: 60_000, signalAt: 2 }),
});
