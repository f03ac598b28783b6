import type { LanguageModel, Message, ModelPart } from 'pith';
import { guardedFetch } from '@pith/guarded-fetch';
import type { ServerError } from '@pith/server-answers';
import type { Endpoint } from './endpoint.ts';
import { messagesFetch } from './messages-stream.ts';

/** A model behind `POST <base>/messages`. The first call imports the client library. */
export function messagesModel(endpoint: Endpoint, name: string): LanguageModel {
  let loaded: Promise<Load> | undefined;
  return {
    specificationVersion: 'v3',
    provider: 'anthropic.messages',
    modelId: name,
    async doStream(options) {
      loaded ??= load(endpoint, name);
      let failure: ServerError | null = null;
      const model = (await loaded)((error) => (failure = error));
      try {
        const { stream } = await model.doStream({ ...options, prompt: withCachePoint(options.prompt) });
        return { stream: withFailure(stream, () => failure) };
      } catch (error) {
        throw failure ?? error;
      }
    },
  };
}

/** Adds the failure, of which the client library gives the message only. */
async function* withFailure(stream: AsyncIterable<ModelPart>, failure: () => ServerError | null): AsyncGenerator<ModelPart> {
  for await (const part of stream) yield part.type === 'error' ? { ...part, error: failure() ?? part.error } : part;
}

/** Marks the end of the system part for the server's cache: tools and system text stay the same from turn to turn. */
export function withCachePoint(prompt: readonly Message[]): Message[] {
  const last = prompt.findLastIndex((message) => message.role === 'system');
  return prompt.map((message, index) =>
    index === last
      ? { ...message, providerOptions: { ...message.providerOptions, anthropic: { cacheControl: { type: 'ephemeral' } } } }
      : message,
  );
}

/** Makes the model for one call; `failed` gets the error when the answer fails. */
type Load = (failed: (error: ServerError) => void) => LanguageModel;

async function load({ baseUrl: baseURL, apiKey, headers, guard }: Endpoint, name: string): Promise<Load> {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  const fetch = guardedFetch(guard); // nobody else gets the texts and the key
  return (failed) => createAnthropic({ baseURL, apiKey, headers: { ...headers }, fetch: messagesFetch(fetch, failed) }).languageModel(name);
}
