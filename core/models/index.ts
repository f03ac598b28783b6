export { modelFailure } from './failure.ts';
export { refusedPart } from './refusal.ts';
export { readWithRetry, type Retry } from './retry.ts';
export { createRouter, type ModelRouter, type ResolvedModel } from './router.ts';
