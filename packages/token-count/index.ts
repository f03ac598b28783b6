export { countTokens, mostTokens, startWithin } from './token-count.ts';
