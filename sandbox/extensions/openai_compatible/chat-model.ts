import type { LanguageModel, ModelCallOptions, ModelPart } from 'pith';
import { chatStream } from './chat-stream.ts';
import type { Endpoint } from './endpoint.ts';
import { explainRefusal } from './refusal.ts';

/**
 * A model behind `POST <base>/chat/completions`. The client library, imported by the first call, makes requests and
 * errors; the answer is read here, because the library's own way costs five times as much for each token. `list` names
 * the server's models, for an error that says what there is.
 */
export function chatModel(endpoint: Endpoint, name: string, list: () => Promise<readonly string[]>): LanguageModel {
  return {
    specificationVersion: 'v3',
    provider: `${endpoint.prefix}.chat`,
    modelId: name,
    async doStream(options) {
      try {
        return await stream(endpoint, name, options);
      } catch (error) {
        throw await explainRefusal(error, endpoint, name, list);
      }
    },
  };
}

async function stream(endpoint: Endpoint, name: string, options: ModelCallOptions): Promise<{ stream: AsyncIterable<ModelPart> }> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  let body: AsyncIterable<Uint8Array> | undefined;
  const provider = createOpenAICompatible({
    name: endpoint.prefix,
    baseURL: endpoint.baseUrl,
    ...(endpoint.apiKey === null ? {} : { apiKey: endpoint.apiKey }),
    headers: { ...endpoint.headers },
    includeUsage: true,
    ...(endpoint.official ? { transformRequestBody: officialBody } : {}),
    fetch: async (input, init) => {
      const response = await endpoint.fetch(input, init);
      if (!response.ok || response.body === null) return response;
      body = response.body;
      return new Response('', { headers: response.headers });
    },
  });
  const answer = await provider.chatModel(name).doStream(options);
  if (body === undefined) return answer; // an answer without a body: the library knows what to say
  const first = await answer.stream.getReader().read(); // what it could not send: its only part before an answer
  const warnings = first.value?.type === 'stream-start' ? first.value.warnings : [];
  return { stream: chatStream(body, warnings) };
}

/** OpenAI's newer models refuse `max_tokens`; other servers know nothing else. */
function officialBody(body: Record<string, unknown>): Record<string, unknown> {
  const { max_tokens: limit, ...rest } = body;
  return limit === undefined ? body : { ...rest, max_completion_tokens: limit };
}
