import type { Clock, LanguageModel, ModelCallOptions, ModelPart } from '../contract/index.ts';

/** A model as one turn uses it. */
export interface TurnModel {
  readonly ref: string;
  readonly model: LanguageModel;
  /** Tokens, or null when it is not known. */
  readonly contextWindow: number | null;
}

export interface ModelStreamControl {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  onRetry(retry: { readonly attempt: number; readonly delayMs: number; readonly reason: string }): void;
}

/** What turns need of models. */
export interface ModelsPort {
  /** Rejects `model_unknown`, `model_auth` or `provider_unavailable`. */
  resolve(reference: string): Promise<TurnModel>;
  /** Retries what may be retried before the first part. */
  stream(model: LanguageModel, options: ModelCallOptions, control: ModelStreamControl): AsyncIterable<ModelPart> | PromiseLike<AsyncIterable<ModelPart>>;
  /** What a person reads when the model failed. */
  failure(error: unknown, reference: string): { readonly code: string; readonly message: string };
}
