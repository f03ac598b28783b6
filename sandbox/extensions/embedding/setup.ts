import { PithError, type JsonValue, type SettingsChange, type SetupProvider, type SetupSchema } from 'pith';
import type { Config } from './config.ts';

/** Sets up this extension's one model. `embed` calls it. */
export function embeddingSetup(
  { model, base_url: address, dimensions }: Config,
  embed: (texts: readonly string[]) => Promise<readonly (readonly number[])[]>,
): SetupProvider {
  return {
    getSetupSchema(): SetupSchema {
      return {
        title: 'A server with the OpenAI-compatible embeddings API: OpenAI, Ollama, LM Studio, vLLM and others',
        fields: [
          {
            name: 'model',
            kind: 'text',
            description: 'The embedding model as the server names it, such as text-embedding-3-small; empty switches embeddings off',
            current: model,
          },
          {
            name: 'base_url',
            kind: 'text',
            description: "The server's address, such as http://127.0.0.1:11434/v1; empty for OPENAI_BASE_URL, else OpenAI itself",
            current: address ?? null,
          },
          {
            name: 'dimensions',
            kind: 'number',
            description: "Dimensions of the vectors; empty for the model's default",
            current: dimensions ?? null,
          },
          {
            name: 'api_key',
            kind: 'secret',
            secret: 'EMBEDDING_API_KEY',
            description: 'The key, where it is not the one in OPENAI_API_KEY',
          },
        ],
      };
    },
    applyConfig: changeOf,
    async onSetupComplete() {
      if (model === null) return 'No model is set: skills are found by their words alone';
      const [vector] = await embed(['Does this work?']);
      return `${model} answers with vectors of ${vector?.length} numbers`;
    },
  };
}

function changeOf(name: string, value: JsonValue): SettingsChange {
  const wanted = typeof value === 'string' ? value.trim() : value;
  if (name === 'model' || name === 'base_url') {
    if (typeof wanted !== 'string') throw new PithError('config_invalid', `'${name}' must be text`);
    return { [`extensions.embedding.${name}`]: wanted === '' ? null : wanted };
  }
  if (name === 'dimensions') {
    const number = wanted === '' || wanted === null ? null : Number(wanted);
    if (number !== null && (!Number.isSafeInteger(number) || number < 1))
      throw new PithError('config_invalid', "'dimensions' must be a whole number");
    return { 'extensions.embedding.dimensions': number };
  }
  throw new PithError('config_invalid', `nothing here is named '${name}'`, { cure: 'model, base_url, dimensions' });
}
