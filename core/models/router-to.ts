import type { ModelParts } from '../kernel/index.ts';
import { isModelAlias } from './reference.ts';
import { priceIn } from './prices.ts';
import type { ModelRouter, RouterDependencies } from './router.ts';

/** What the caller gives for a reference or an alias, whatever is asked for. */
export function routerTo(
  given: ModelParts | ((ref: string) => Promise<ModelParts>),
  settings: () => RouterDependencies['settings'],
): ModelRouter {
  const resolve = async (asked: string) => {
    const { model, contextWindow } = typeof given === 'function' ? await given(asked) : given;
    return { ref: `${model.provider}/${model.modelId}`, why: 'given by the caller', model, contextWindow, isOwn: true as const };
  };
  return {
    choose: () => resolve('default'),
    resolve,
    servers: async () => [],
    problem: async () => null,
    meant: async (text) => text,
    check: () => 'default',
    isAlias: (name) => isModelAlias(name, settings().models),
    providerOf: () => null,
    price: (ref) => priceIn(settings().prices ?? {}, ref),
    invalidate: () => undefined,
  };
}
