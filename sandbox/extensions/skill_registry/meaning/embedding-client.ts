import { messageOf, PithError, type Clock, type Logger, type Remote } from 'pith';
import { within } from '@pith/promises';
import type { EmbeddingProvider } from 'pith/embedding';
import { modelOf, providerWithModel } from './embedding-model.ts';

type Purpose = 'query' | 'document';

export interface EmbeddingClientOptions {
  /** Those that can be reached now. */
  find(): readonly Remote<EmbeddingProvider>[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Why no vectors came. */
export interface EmbeddingFailure {
  readonly model: string;
  readonly purpose: Purpose;
  readonly message: string;
  readonly cure: string | undefined;
  readonly at: number;
}

const FIRST_REST_MS = 30_000;
const LONGEST_REST_MS = 600_000;
const LONGEST_TEXT = 8000;
/** Texts in one call; the provider may split them further. */
export const BATCH = 64;

/** Asks whoever gives vectors, and rests when that fails: people are told once, not at each message. */
export class EmbeddingClient {
  readonly #options: EmbeddingClientOptions;
  readonly #woken = new Set<string>();
  #failures = 0;
  #restUntil = -Infinity;
  /** The model that failed: another is asked at once. */
  #failed: string | null = null;
  /** Of each purpose the last, until vectors come for it. */
  readonly #last = new Map<Purpose, EmbeddingFailure>();
  /** The model that gave a vector for a query when it was asked last. */
  #answered: string | null = null;

  constructor(options: EmbeddingClientOptions) {
    this.#options = options;
  }

  /** The model whose vectors can be had, of the first provider that has one; null where none has. */
  model(): string | null {
    return modelOf(this.#options.find());
  }

  /** How long nothing is asked, after a failure. */
  get restMs(): number {
    return this.#failed === this.model() ? Math.max(0, this.#restUntil - this.#options.clock.now()) : 0;
  }

  /** Why the model gave no vectors when it was asked last; null where it did, or was not asked. */
  get failure(): EmbeddingFailure | null {
    const model = this.model();
    const failures = [this.#last.get('query'), this.#last.get('document')];
    return failures.find((failure) => failure !== undefined && failure.model === model) ?? null;
  }

  /** The same, for who has so long: a model that has not answered yet, or failed, is asked now, also while it rests. */
  async check(limitMs: number): Promise<EmbeddingFailure | null> {
    const { clock, find } = this.#options;
    const provider = providerWithModel(find());
    const model = provider?.embeddingModel ?? null;
    if (provider === undefined || model === null) return null;
    if (this.#answered === model && this.failure === null) return null;
    const limit = new AbortController();
    const asked = this.#ask(provider, model, ['skill'], 'query', limit.signal).then(() => true);
    const isDone = (await within(clock, limitMs, asked)) === true;
    limit.abort();
    if (isDone) return this.failure;
    const cure = 'Check that the server of the embedding model runs, and look whether it is busy';
    return { model, purpose: 'query', message: `no answer within ${limitMs / 1000} s`, cure, at: clock.now() };
  }

  /** Loads providers that never said whether they have a model, once each. From then on the index of extensions knows it. */
  async wake(): Promise<void> {
    for (const provider of this.#options.find()) {
      if (provider.embeddingModel !== undefined || this.#woken.has(provider.extensionId)) continue;
      this.#woken.add(provider.extensionId);
      await provider.embed([], { purpose: 'document' }).catch((error: unknown) => {
        this.#options.logger.debug(`embeddings of '${provider.extensionId}': ${messageOf(error)}`); // its own failure is recorded with it
      });
    }
  }

  /** Vectors of length 1; null where they cannot be had now. Never rejects. */
  async embed(texts: readonly string[], purpose: Purpose, signal?: AbortSignal): Promise<readonly Float32Array[] | null> {
    const provider = providerWithModel(this.#options.find());
    const model = provider?.embeddingModel ?? null;
    if (provider === undefined || model === null || this.restMs > 0 || isAborted(signal)) return null;
    return this.#ask(provider, model, texts, purpose, signal);
  }

  /** The same for any number of texts, so many at a time. */
  async embedAll(texts: readonly string[], purpose: Purpose, signal: AbortSignal): Promise<readonly Float32Array[] | null> {
    const found: Float32Array[] = [];
    for (let from = 0; from < texts.length; from += BATCH) {
      const vectors = await this.embed(texts.slice(from, from + BATCH), purpose, signal);
      if (vectors === null) return null;
      found.push(...vectors);
    }
    return found;
  }

  fail(model: string, error: unknown, purpose: Purpose = 'document'): void {
    const { clock, logger } = this.#options;
    const cure = error instanceof PithError ? error.cure : undefined;
    if (this.#failed !== model) this.#failures = 0;
    if (this.#failures === 0)
      logger.warn(`skills are found by their words alone for now: ${messageOf(error)}${cure === undefined ? '' : `; ${cure}`}`);
    this.#failed = model;
    this.#restUntil = clock.now() + Math.min(FIRST_REST_MS * 2 ** this.#failures, LONGEST_REST_MS);
    this.#failures++;
    this.#last.set(purpose, { model, purpose, message: messageOf(error), cure, at: clock.now() });
  }

  async #ask(
    provider: Remote<EmbeddingProvider>,
    model: string,
    texts: readonly string[],
    purpose: Purpose,
    signal?: AbortSignal,
  ): Promise<readonly Float32Array[] | null> {
    try {
      const given = texts.map((text) => text.slice(0, LONGEST_TEXT));
      const vectors = checkedVectors(await provider.embed(given, { purpose }, signal), texts.length);
      if (this.#failures > 0) this.#options.logger.info('skills are found by their meaning again', { model });
      this.#failures = 0;
      this.#restUntil = -Infinity;
      this.#last.delete(purpose);
      if (purpose === 'query') this.#answered = model;
      return vectors;
    } catch (error) {
      if (!isAborted(signal)) this.fail(model, error, purpose);
      return null;
    }
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted ?? false;
}

const MOST_DIMENSIONS = 8192;

/** Whatever an extension answers: as many vectors as texts, of one length, of finite numbers, not all zero. */
function checkedVectors(given: unknown, count: number): readonly Float32Array[] {
  if (!Array.isArray(given) || given.length !== count) throw odd(`not ${count} vectors`);
  return (given as readonly unknown[]).map((vector) => {
    if (!Array.isArray(vector) || vector.length === 0 || vector.length > MOST_DIMENSIONS) throw odd('something that is no vector');
    if (vector.length !== (given[0] as readonly unknown[]).length) throw odd('vectors of different lengths');
    const unit = Float32Array.from(vector as readonly number[]);
    let squares = 0;
    for (const value of unit) squares += value * value;
    if (!Number.isFinite(squares)) throw odd('a vector with something that is no number');
    if (squares === 0) throw odd('a vector of zeros');
    const length = Math.sqrt(squares);
    for (let at = 0; at < unit.length; at++) unit[at]! /= length;
    return unit;
  });
}

function odd(what: string): PithError {
  return new PithError('provider_failed', `the embedding model gave ${what}`, { cure: 'check its name in the settings' });
}
