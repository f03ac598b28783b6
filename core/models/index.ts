export { modelFailure } from './failure.ts';
export { readWithRetry, type Retry, type RetryOptions } from './retry.ts';
export { createRouter, type ModelRouter, type ResolvedModel, type RouterDependencies } from './router.ts';
