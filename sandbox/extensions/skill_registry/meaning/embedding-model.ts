import type { Remote } from 'pith';
import type { EmbeddingProvider } from 'pith/embedding';

/** The first provider, in the order of their ids, that has a model. */
export function providerWithModel(providers: readonly Remote<EmbeddingProvider>[]): Remote<EmbeddingProvider> | undefined {
  const sorted = providers.length < 2 ? providers : [...providers].sort((a, b) => (a.extensionId < b.extensionId ? -1 : 1));
  return sorted.find(({ embeddingModel }) => typeof embeddingModel === 'string' && embeddingModel !== '');
}

/** Its model; null where none is known to have one. */
export function modelOf(providers: readonly Remote<EmbeddingProvider>[]): string | null {
  return providerWithModel(providers)?.embeddingModel ?? null;
}
