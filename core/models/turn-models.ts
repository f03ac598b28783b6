import type { Clock, LanguageModel, ModelCallOptions, ModelPart } from '../contract/index.ts';
import { modelFailure } from './failure.ts';
import { streamWithRetry } from './retry.ts';
import type { ModelRouter, ResolvedModel } from './router.ts';

interface StreamControl {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  onRetry(retry: { readonly attempt: number; readonly delayMs: number; readonly reason: string }): void;
}

/** What turns need of models: names resolved by the router, streams with retry, failures in words. */
export function createTurnModels(router: ModelRouter) {
  return {
    resolve: (reference: string): Promise<ResolvedModel> => router.resolve(reference),
    stream: (model: LanguageModel, options: ModelCallOptions, { clock, signal, onRetry }: StreamControl): AsyncIterable<ModelPart> =>
      streamWithRetry(model, options, {
        clock,
        signal,
        onRetry: ({ attempt, delayMs, error }) => onRetry({ attempt, delayMs, reason: modelFailure(error, model.modelId).message }),
      }),
    failure: modelFailure,
  };
}
