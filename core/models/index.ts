export { modelFailure } from './failure.ts';
export { probePort } from './port.ts';
export { readWithRetry, type Retry } from './retry.ts';
export { createRouter, type ModelRouter, type ResolvedModel } from './router.ts';
