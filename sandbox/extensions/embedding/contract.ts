import { constant, defineProtocol, method } from 'pith';

export interface EmbedOptions {
  /** Some models treat queries and documents differently. */
  readonly purpose: 'query' | 'document';
}

/** Turns texts into vectors whose cosine measures how similar their meanings are. */
export interface EmbeddingProvider {
  /**
   * Identifies the model and everything else that its vectors depend on: vectors with different names are never compared. null: no model is
   * set up, and none is asked.
   */
  readonly embeddingModel: string | null;
  /** A vector for each text, in order, all of one length. Rejects with an error that has a cure. */
  embed(texts: readonly string[], options: EmbedOptions, signal?: AbortSignal): Promise<readonly (readonly number[])[]>;
}

export const EmbeddingProvider = defineProtocol<EmbeddingProvider>('text.embedding', {
  embeddingModel: constant(),
  embed: method({ timeoutMs: 60_000, signalAt: 2 }),
});
