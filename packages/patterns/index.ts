export { effortOf } from './effort.ts';
export { globMatcher } from './glob.ts';
