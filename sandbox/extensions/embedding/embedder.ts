import { PithError, type Clock } from 'pith';
import type { EmbedOptions } from './contract.ts';
import type { Config } from './config.ts';
import type { Endpoint } from './endpoint.ts';
import { requestVectors } from './request.ts';

/** In characters. No model reads further, and for longer texts servers refuse the whole request. */
const LONGEST = 24_000;

/** Requests vectors in batches of limited size, one after the other. */
export class Embedder {
  constructor(
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly endpoint: () => Endpoint,
  ) {}

  async embed(texts: readonly string[], _options: EmbedOptions, signal?: AbortSignal): Promise<readonly (readonly number[])[]> {
    const { model, batch, dimensions, headers, timeout_s: seconds } = this.config;
    if (texts.length === 0) return [];
    if (model === null)
      throw new PithError('config_invalid', 'embeddings: no model is set', { cure: 'set extensions.embedding.model in pith.yaml' });
    const request = { endpoint: this.endpoint(), model, dimensions, headers, timeoutMs: seconds * 1000, clock: this.clock };
    const vectors: (readonly number[])[] = [];
    for (let from = 0; from < texts.length; from += batch) {
      const some = texts.slice(from, from + batch).map((text) => text.slice(0, LONGEST) || ' '); // servers refuse empty texts
      vectors.push(...(await requestVectors(some, request, signal)));
    }
    return vectors;
  }
}
