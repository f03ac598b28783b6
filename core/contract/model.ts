import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { defineProtocol, method } from './protocol.ts';

export type ModelCallOptions = LanguageModelV3CallOptions;
export type ModelPart = LanguageModelV3StreamPart;

/** The part of a model that the loop needs: any AI SDK language model has it. Any AsyncIterable of its parts will do. `providerOptions.pith.effort`: as `AgentSpec.effort`. */
export interface LanguageModel extends Pick<LanguageModelV3, 'specificationVersion' | 'provider' | 'modelId'> {
  doStream(options: ModelCallOptions): PromiseLike<{ readonly stream: AsyncIterable<ModelPart> }>;
}

export interface ModelInfo {
  readonly name: string;
  /** Tokens; null when it is not known. */
  readonly contextWindow: number | null;
}

/** Offers models under the prefixes that its manifest declares. */
export interface ModelProvider {
  /** Models available under this prefix; may ask the server. Unlisted names may work too. Empty when the server cannot be asked. */
  models(prefix: string, signal?: AbortSignal): Promise<readonly ModelInfo[]>;
  /** The `host:port` of a running local server, or null. Asked for prefixes with `when_local` if no model is set up; a person waits. */
  findLocal?(prefix: string, signal?: AbortSignal): Promise<string | null>;
  /** `name` is the part of `provider/model` after the slash. Throws `model_unknown` or `model_auth`. */
  getModel(name: string, prefix: string): { readonly model: LanguageModel; readonly contextWindow: number | null };
}

export const ModelProvider = defineProtocol<ModelProvider>('model', {
  models: method({ signalAt: 1 }),
  findLocal: method({ optional: true, signalAt: 1 }),
  getModel: method(),
});
