import type { LanguageModel, Message } from 'pith';
import { guardedFetch } from '@pith/guarded-fetch';
import type { Endpoint } from './endpoint.ts';

/** A model behind `POST <base>/messages`. The client library is imported by the first call. */
export function messagesModel(endpoint: Endpoint, name: string): LanguageModel {
  let loaded: Promise<LanguageModel> | undefined;
  return {
    specificationVersion: 'v3',
    provider: 'anthropic.messages',
    modelId: name,
    async doStream(options) {
      loaded ??= load(endpoint, name);
      return (await loaded).doStream({ ...options, prompt: withCachePoint(options.prompt) });
    },
  };
}

/** Marks the end of the system part: tools and system text stay the same from turn to turn, so the server may keep them. */
export function withCachePoint(prompt: readonly Message[]): Message[] {
  const last = prompt.findLastIndex((message) => message.role === 'system');
  return prompt.map((message, index) =>
    index === last
      ? { ...message, providerOptions: { ...message.providerOptions, anthropic: { cacheControl: { type: 'ephemeral' } } } }
      : message,
  );
}

async function load({ baseUrl: baseURL, apiKey, headers, guard }: Endpoint, name: string): Promise<LanguageModel> {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  const fetch = guardedFetch(guard); // nobody else gets the texts and the key
  const provider = createAnthropic({ baseURL, apiKey, headers: { ...headers }, fetch });
  return provider.languageModel(name);
}
