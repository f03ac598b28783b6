import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { defineProtocol, method } from './protocol.ts';

export type ModelCallOptions = LanguageModelV3CallOptions;
export type ModelPart = LanguageModelV3StreamPart;

/** What the loop needs of a model: any AI SDK language model has it. Any AsyncIterable of its parts will do. */
export interface LanguageModel extends Pick<LanguageModelV3, 'specificationVersion' | 'provider' | 'modelId'> {
  doStream(options: ModelCallOptions): PromiseLike<{ readonly stream: AsyncIterable<ModelPart> }>;
}

export interface ModelInfo {
  readonly name: string;
  /** Tokens, or null when it is not known. */
  readonly contextWindow: number | null;
}

/** Offers models under the prefixes that its manifest declares. */
export interface ModelProvider {
  /** Models that can be named under this prefix; may ask the server. Names that are not listed may still work. Empty when it cannot be asked. */
  models(prefix: string, signal?: AbortSignal): Promise<readonly ModelInfo[]>;
  /** The `host:port` of a server that listens though nobody chose it, or null. Asked for prefixes with `when_local` while a person waits. */
  findLocal?(prefix: string, signal?: AbortSignal): Promise<string | null>;
  /** `name` is what follows the prefix and its slash in `provider/model`. Throws `model_unknown` or `model_auth`. */
  getModel(name: string, prefix: string): { readonly model: LanguageModel; readonly contextWindow: number | null };
}

export const ModelProvider = defineProtocol<ModelProvider>('model', {
  models: method({ signalAt: 1 }),
  findLocal: method({ optional: true, signalAt: 1 }),
  getModel: method(),
});
