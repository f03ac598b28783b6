export { modelFailure, refusedPart } from './failure.ts';
export { readWithRetry, type Retry } from './retry.ts';
export { createRouter, type ModelRouter, type ResolvedModel } from './router.ts';
export { isModelAlias } from './reference.ts';
export { costOf, type Price } from './prices.ts';
export { routerTo } from './router-to.ts';
