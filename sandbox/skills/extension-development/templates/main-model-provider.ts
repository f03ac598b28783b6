import {
  PithError,
  z,
  type ExtensionContext,
  type LanguageModel,
  type ModelCallOptions,
  type ModelInfo,
  type ModelPart,
  type ModelProvider,
} from 'pith';

const config = z.strictObject({ base_url: z.url() });
const listSchema = z.object({ models: z.array(z.object({ name: z.string(), context: z.int().nullish() })) });
const replySchema = z.object({ text: z.string(), input_tokens: z.int().optional(), output_tokens: z.int().optional() });

export default class MyModels implements ModelProvider {
  static config = config;

  constructor(private readonly context: ExtensionContext<z.infer<typeof config>>) {}

  async models(_prefix: string, signal?: AbortSignal): Promise<readonly ModelInfo[]> {
    const response = await fetch(`${this.context.config.base_url}/models`, { headers: this.#headers(), signal });
    if (!response.ok) return [];
    return listSchema.parse(await response.json()).models.map(({ name, context }) => ({ name, contextWindow: context ?? null }));
  }

  getModel(name: string, prefix: string): { model: LanguageModel; contextWindow: number | null } {
    const headers = this.#headers();
    const model: LanguageModel = {
      specificationVersion: 'v3',
      provider: prefix,
      modelId: name,
      doStream: async (options) => ({ stream: this.#answer(name, headers, options) }),
    };
    return { model, contextWindow: null };
  }

  /** Asks the server once. A server that streams would yield a `text-delta` for each piece as it arrives. */
  async *#answer(model: string, headers: Record<string, string>, options: ModelCallOptions): AsyncGenerator<ModelPart> {
    const body = JSON.stringify({ model, messages: options.prompt });
    const response = await fetch(`${this.context.config.base_url}/generate`, {
      method: 'POST',
      headers,
      body,
      signal: options.abortSignal,
    });
    if (!response.ok) throw new PithError('model_failed', `the server answered ${response.status}`, { statusCode: response.status });
    const reply = replySchema.parse(await response.json());
    yield { type: 'stream-start', warnings: [] };
    yield { type: 'text-start', id: '0' };
    yield { type: 'text-delta', id: '0', delta: reply.text };
    yield { type: 'text-end', id: '0' };
    yield {
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: {
        inputTokens: { total: reply.input_tokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: reply.output_tokens, text: undefined, reasoning: undefined },
      },
    };
  }

  #headers(): Record<string, string> {
    const key = this.context.getSecret('MY_MODELS_KEY');
    if (key === null) throw new PithError('model_auth', 'no key is set', { cure: 'set MY_MODELS_KEY' });
    return { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  }
}
