export { modelFailure } from './failure.ts';
export { refusedPart } from './refused-part.ts';
export { readWithRetry, type Retry } from './retry.ts';
export { createRouter, type ModelRouter, type ResolvedModel } from './router.ts';
export { isModelAlias } from './reference.ts';
