export { effortOf } from './effort.ts';
export { globMatcher } from './glob.ts';
export { globOf, type Glob } from './wildmatch.ts';
