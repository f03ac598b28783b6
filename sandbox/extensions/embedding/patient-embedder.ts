import { withCure } from '@pith/plain-text';
import { messageOf, PithError, type Clock, type Diagnostic, type Logger } from 'pith';
import { within } from '@pith/promises';
import type { EmbedOptions, EmbeddingProvider } from './contract.ts';

export interface PatientEmbedderOptions {
  readonly model: string;
  readonly embed: EmbeddingProvider['embed'];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Why the last request gave no vectors. */
export interface EmbeddingFailure {
  readonly message: string;
  readonly cure: string | undefined;
  readonly at: number;
}

/** After a failure nothing is asked for so long. */
const REST_MS = 30_000;
const LONGEST_TEXT = 8000;
/** How long `pith doctor` waits. */
const CHECK_MS = 2000;

/** Requests vectors of length 1, and rests after a failure: people are notified once, not at each message. */
export class PatientEmbedder {
  /** null: the last request gave vectors; undefined: there was none yet. */
  private last: EmbeddingFailure | null | undefined = undefined;

  constructor(private readonly options: PatientEmbedderOptions) {}

  /** What is left of the rest. */
  get restMs(): number {
    return Math.max(0, (this.last?.at ?? -Infinity) + REST_MS - this.options.clock.now());
  }

  get failure(): EmbeddingFailure | null {
    return this.last ?? null;
  }

  /** Problems. A model that has not answered yet, or failed, is asked for one vector now, also during the rest. */
  async findings(): Promise<readonly Diagnostic[]> {
    if (this.last === null) return [];
    const { clock, model } = this.options;
    const limit = new AbortController();
    const asked = this.ask(['skill'], 'query', limit.signal).then(() => true);
    const isDone = (await within(clock, CHECK_MS, asked)) === true;
    limit.abort();
    const cure = 'check that the server of the embedding model runs, and look whether it is busy';
    const failure = isDone ? this.failure : { message: `no answer within ${CHECK_MS / 1000} s`, cure, at: clock.now() };
    return failure === null ? [] : [findingOf(model, failure)];
  }

  /** null where there are no vectors now. Never rejects. */
  async embed(
    texts: readonly string[],
    purpose: EmbedOptions['purpose'],
    signal: AbortSignal,
  ): Promise<readonly Float32Array<ArrayBuffer>[] | null> {
    return this.restMs > 0 || signal.aborted ? null : this.ask(texts, purpose, signal);
  }

  fail(error: unknown): void {
    const { clock, logger } = this.options;
    const cure = error instanceof PithError ? error.cure : undefined;
    if (!this.last) logger.warn(`skills are found by their words alone for now: ${withCure(messageOf(error), cure)}`);
    this.last = { message: messageOf(error), cure, at: clock.now() };
  }

  private async ask(texts: readonly string[], purpose: EmbedOptions['purpose'], signal: AbortSignal) {
    try {
      const given = texts.map((text) => text.slice(0, LONGEST_TEXT));
      const vectors = (await this.options.embed(given, { purpose }, signal)).map(unitOf);
      if (this.last) this.options.logger.info('skills are found by their meaning again', { model: this.options.model });
      this.last = null;
      return vectors;
    } catch (error) {
      if (!signal.aborted) this.fail(error);
      return null;
    }
  }
}

function findingOf(model: string, { message, cure, at }: EmbeddingFailure): Diagnostic {
  const text = `the embedding model ${model} gave no vectors (${new Date(at).toISOString()}), so words alone decide: ${message}`;
  return { severity: 'warning', code: 'embedding_failed', message: text, cure: cure ?? 'check extensions.embedding in pith.yaml' };
}

function unitOf(vector: readonly number[]): Float32Array<ArrayBuffer> {
  const length = Math.hypot(...vector);
  if (length === 0)
    throw new PithError('provider_failed', 'the embedding model gave a vector of zeros', { cure: 'check its name in the settings' });
  return Float32Array.from(vector, (value) => value / length);
}
