import type { LanguageModel, ModelCallOptions, ModelPart } from 'pith';

type Step = ModelPart | Error | 'hang';

/** A model whose calls play `attempts` one after another: an Error at the beginning fails the call, later it breaks the stream. */
export function modelOf(...attempts: readonly (readonly Step[])[]): LanguageModel & { readonly calls: ModelCallOptions[] } {
  const calls: ModelCallOptions[] = [];
  return {
    specificationVersion: 'v3',
    provider: 'test',
    modelId: 'scripted',
    calls,
    async doStream(options) {
      const steps = attempts[calls.length];
      calls.push(options);
      if (steps === undefined) throw new Error(`call ${calls.length} was not expected`);
      if (steps[0] instanceof Error) throw steps[0];
      return { stream: play(steps) };
    },
  };
}

async function* play(steps: readonly Step[]): AsyncGenerator<ModelPart> {
  for (const step of steps) {
    if (step instanceof Error) throw step;
    if (step === 'hang') await new Promise(() => undefined);
    else yield step;
  }
}

export const start: ModelPart = { type: 'stream-start', warnings: [] };
export const text = (delta: string): ModelPart => ({ type: 'text-delta', id: '1', delta });

/** An error as providers throw it. */
export function failed(fields: object, message = 'failed'): Error {
  return Object.assign(new Error(message), fields);
}
