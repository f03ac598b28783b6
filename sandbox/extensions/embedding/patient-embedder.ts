import { messageOf, PithError, type Clock, type Diagnostic, type Logger } from 'pith';
import { within } from '@pith/promises';
import type { EmbeddingProvider } from './contract.ts';

type Purpose = 'query' | 'document';

export interface PatientEmbedderOptions {
  readonly model: string;
  readonly embed: EmbeddingProvider['embed'];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Why a request gave no vectors. */
export interface EmbeddingFailure {
  readonly purpose: Purpose;
  readonly message: string;
  readonly cure: string | undefined;
  readonly at: number;
}

const FIRST_REST_MS = 30_000;
const LONGEST_REST_MS = 600_000;
const LONGEST_TEXT = 8000;
/** How long `pith doctor` waits. */
const CHECK_MS = 2000;

/** Requests vectors of length 1, and pauses after a failure: people are notified once, not at each message. */
export class PatientEmbedder {
  private failures = 0;
  private restUntil = -Infinity;
  /** The last failure of each purpose, until a request succeeds. */
  private readonly last = new Map<Purpose, EmbeddingFailure>();
  private hasAnswered = false;

  constructor(private readonly options: PatientEmbedderOptions) {}

  /** The pause after a failure. */
  get restMs(): number {
    return Math.max(0, this.restUntil - this.options.clock.now());
  }

  /** Why the last request gave no vectors; null where it did, or there was none. */
  get failure(): EmbeddingFailure | null {
    return this.last.get('query') ?? this.last.get('document') ?? null;
  }

  /** Problems. A model that has not answered yet, or failed, is asked for one vector now, also during the pause. */
  async findings(): Promise<readonly Diagnostic[]> {
    if (this.hasAnswered && this.failure === null) return [];
    const limit = new AbortController();
    const asked = this.ask(['skill'], 'query', limit.signal).then(() => true);
    const isDone = (await within(this.options.clock, CHECK_MS, asked)) === true;
    limit.abort();
    const cure = 'check that the server of the embedding model runs, and look whether it is busy';
    const late: EmbeddingFailure = {
      purpose: 'query',
      message: `no answer within ${CHECK_MS / 1000} s`,
      cure,
      at: this.options.clock.now(),
    };
    const failure = isDone ? this.failure : late;
    return failure === null ? [] : [findingOf(this.options.model, failure)];
  }

  /** null where there are no vectors now. Never rejects. */
  async embed(texts: readonly string[], purpose: Purpose, signal?: AbortSignal): Promise<readonly Float32Array[] | null> {
    if (this.restMs > 0 || isAborted(signal)) return null;
    return this.ask(texts, purpose, signal);
  }

  fail(error: unknown, purpose: Purpose = 'document'): void {
    const { clock, logger } = this.options;
    const cure = error instanceof PithError ? error.cure : undefined;
    if (this.failures === 0)
      logger.warn(`skills are found by their words alone for now: ${messageOf(error)}${cure === undefined ? '' : `; ${cure}`}`);
    this.restUntil = clock.now() + Math.min(FIRST_REST_MS * 2 ** this.failures, LONGEST_REST_MS);
    this.failures++;
    this.last.set(purpose, { purpose, message: messageOf(error), cure, at: clock.now() });
  }

  private async ask(texts: readonly string[], purpose: Purpose, signal?: AbortSignal): Promise<readonly Float32Array[] | null> {
    try {
      const given = texts.map((text) => text.slice(0, LONGEST_TEXT));
      const vectors = checkedVectors(await this.options.embed(given, { purpose }, signal), texts.length);
      if (this.failures > 0) this.options.logger.info('skills are found by their meaning again', { model: this.options.model });
      this.failures = 0;
      this.restUntil = -Infinity;
      this.last.clear();
      this.hasAnswered = true;
      return vectors;
    } catch (error) {
      if (!isAborted(signal)) this.fail(error, purpose);
      return null;
    }
  }
}

function findingOf(model: string, { purpose, message, cure, at }: EmbeddingFailure): Diagnostic {
  const [what, so] = purpose === 'query' ? ['vector for a search', 'words alone decide'] : ['vectors for skills', 'words find these'];
  const text = `the embedding model ${model} gave no ${what} (${new Date(at).toISOString()}), so ${so}: ${message}`;
  return { severity: 'warning', code: 'embedding_failed', message: text, cure: cure ?? 'check extensions.embedding in pith.yaml' };
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted ?? false;
}

const MOST_DIMENSIONS = 8192;

/** Checks an extension's answer: as many vectors as texts, of one length, of finite numbers, not all zero. */
function checkedVectors(given: unknown, count: number): readonly Float32Array[] {
  if (!Array.isArray(given) || given.length !== count) throw odd(`not ${count} vectors`);
  return (given as readonly unknown[]).map((vector) => {
    if (!Array.isArray(vector) || vector.length === 0 || vector.length > MOST_DIMENSIONS) throw odd('something that is not a vector');
    if (vector.length !== (given[0] as readonly unknown[]).length) throw odd('vectors of different lengths');
    const unit = Float32Array.from(vector as readonly number[]);
    let squares = 0;
    for (const value of unit) squares += value * value;
    if (!Number.isFinite(squares)) throw odd('a vector with something that is not a number');
    if (squares === 0) throw odd('a vector of zeros');
    const length = Math.sqrt(squares);
    for (let at = 0; at < unit.length; at++) unit[at]! /= length;
    return unit;
  });
}

function odd(what: string): PithError {
  return new PithError('provider_failed', `the embedding model gave ${what}`, { cure: 'check its name in the settings' });
}
