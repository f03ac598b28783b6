import type { LanguageModel, Message, ModelCallOptions, ModelPart } from 'pith';
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
        const { stream } = await model.doStream({
          ...options,
          prompt: withCachePoint(options.prompt),
          providerOptions: thinkingOf(options, name),
        });
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

/** Tokens for thinking, for models that have no effort of their own. */
const BUDGETS: ReadonlyMap<unknown, number> = new Map([
  ['low', 2_048],
  ['medium', 8_192],
  ['high', 24_576],
]);
const WITH_BUDGET = /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5](?!\d)|-\d{8}|$))/;

/** The thinking effort, as the client library takes it. */
function thinkingOf({ providerOptions }: ModelCallOptions, name: string): ModelCallOptions['providerOptions'] {
  const effort = providerOptions?.['pith']?.['effort'];
  if (effort === undefined) return providerOptions;
  const budgetTokens = BUDGETS.get(effort);
  const anthropic =
    budgetTokens === undefined
      ? { thinking: { type: 'disabled' } }
      : WITH_BUDGET.test(name)
        ? { thinking: { type: 'enabled', budgetTokens } }
        : { thinking: { type: 'adaptive' }, effort };
  return { ...providerOptions, anthropic: { ...providerOptions?.['anthropic'], ...anthropic } };
}

/** Makes the model for one call; `failed` gets the error when the answer fails. */
type Load = (failed: (error: ServerError) => void) => LanguageModel;

async function load({ baseUrl: baseURL, apiKey, headers, guard }: Endpoint, name: string): Promise<Load> {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  const fetch = guardedFetch(guard); // nobody else gets the texts and the key
  return (failed) => createAnthropic({ baseURL, apiKey, headers: { ...headers }, fetch: messagesFetch(fetch, failed) }).languageModel(name);
}
