import { PithError, type Clock } from 'pith';
import type { EmbedOptions } from './contract.ts';
import type { Config } from './config.ts';
import type { Endpoint } from './endpoint.ts';
import { requestVectors } from './request.ts';

/** In characters. No model reads further, and for longer texts servers refuse the whole request. */
const LONGEST = 24_000;
const ATTEMPTS = 3;
const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** Requests vectors in batches of limited size, one after the other. Documents are not urgent: a temporary failure is retried. */
export class Embedder {
  constructor(
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly endpoint: () => Endpoint,
  ) {}

  async embed(texts: readonly string[], { purpose }: EmbedOptions, signal?: AbortSignal): Promise<readonly (readonly number[])[]> {
    const { model, batch } = this.config;
    if (texts.length === 0) return [];
    if (model === null)
      throw new PithError('config_invalid', 'embeddings: no model is set', { cure: 'set extensions.embedding.model in pith.yaml' });
    const vectors: (readonly number[])[] = [];
    for (let from = 0; from < texts.length; from += batch) {
      const some = texts.slice(from, from + batch).map((text) => text.slice(0, LONGEST) || ' '); // servers refuse empty texts
      vectors.push(...(await this.#ask(model, some, purpose === 'document' ? ATTEMPTS : 1, signal)));
    }
    return vectors;
  }

  async #ask(model: string, texts: readonly string[], attempts: number, signal?: AbortSignal): Promise<readonly (readonly number[])[]> {
    const { dimensions, headers, timeout_s: seconds } = this.config;
    const request = { endpoint: this.endpoint(), model, dimensions, headers, timeoutMs: seconds * 1000, clock: this.clock };
    for (let attempt = 1; ; attempt++) {
      try {
        return await requestVectors(texts, request, signal);
      } catch (error) {
        if (!(error instanceof PithError && error.retryable) || attempt >= attempts) throw error;
        await this.clock.sleep(Math.min(error.retryAfterMs ?? PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS), signal);
      }
    }
  }
}
