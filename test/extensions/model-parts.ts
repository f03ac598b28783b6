/** How tests of providers of models ask a model, and read what it answers. */
import type { JsonValue, LanguageModel, ModelCallOptions, ModelPart } from 'pith';
import type { RoutedProvider } from '../../core/kernel/index.ts';
import { kernelOf } from '../places.ts';

/** The models of a shipped extension in a kernel, with these settings of it. */
export async function providerOf(
  id: string,
  settings: Readonly<Record<string, JsonValue>>,
  env: Readonly<Record<string, string>>,
): Promise<RoutedProvider> {
  const { kernel } = await kernelOf({ env, flags: { extensions: { [id]: settings } } });
  return kernel.host.providers.models.of(id);
}

/** All parts of one call of a model. */
export async function partsOf(
  model: LanguageModel,
  options: Partial<ModelCallOptions> & Pick<ModelCallOptions, 'prompt'>,
): Promise<ModelPart[]> {
  const { stream } = await model.doStream(options);
  const parts: ModelPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

/** What a call of a model that fails at once rejects with. */
export async function failureOf(model: LanguageModel): Promise<unknown> {
  return Promise.resolve(model.doStream({ prompt: [userText('Hello')] })).then(
    () => null,
    (error: unknown) => error,
  );
}

export function textOf(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
}

export function userText(text: string): ModelCallOptions['prompt'][number] {
  return { role: 'user', content: [{ type: 'text', text }] };
}
