import type { ModelParts } from '../kernel/index.ts';
import { isModelAlias } from './reference.ts';
import type { ModelRouter } from './router.ts';

/** Whatever is asked for, it is this model. */
export function routerTo({ model, contextWindow }: ModelParts, aliases: () => Readonly<Record<string, string | undefined>>): ModelRouter {
  const chosen = { ref: `${model.provider}/${model.modelId}`, why: 'given by the caller' };
  return {
    choose: async () => chosen,
    resolve: async () => ({ ...chosen, model, contextWindow }),
    servers: async () => [],
    problem: async () => null,
    meant: async (text) => text,
    check: () => 'default',
    isAlias: (name) => isModelAlias(name, aliases()),
    providerOf: () => null,
    invalidate: () => undefined,
  };
}
