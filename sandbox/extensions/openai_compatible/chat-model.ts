import type { LanguageModel } from 'pith';
import type { Endpoint } from './endpoint.ts';

/** A model behind `POST <base>/chat/completions`. The client library is imported by the first call. */
export function chatModel(endpoint: Endpoint, name: string): LanguageModel {
  let loaded: Promise<LanguageModel> | undefined;
  return {
    specificationVersion: 'v3',
    provider: `${endpoint.prefix}.chat`,
    modelId: name,
    async doStream(options) {
      loaded ??= load(endpoint, name);
      return (await loaded).doStream(options);
    },
  };
}

async function load(endpoint: Endpoint, name: string): Promise<LanguageModel> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const provider = createOpenAICompatible({
    name: endpoint.prefix,
    baseURL: endpoint.baseUrl,
    ...(endpoint.apiKey === null ? {} : { apiKey: endpoint.apiKey }),
    headers: { ...endpoint.headers },
    includeUsage: true,
    ...(endpoint.official ? { transformRequestBody: officialBody } : {}),
  });
  return provider.chatModel(name);
}

/** OpenAI's newer models refuse `max_tokens`; other servers know nothing else. */
function officialBody(body: Record<string, unknown>): Record<string, unknown> {
  const { max_tokens: limit, ...rest } = body;
  return limit === undefined ? body : { ...rest, max_completion_tokens: limit };
}
