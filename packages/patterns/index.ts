export { effortOf } from './effort.ts';
export { globMatcher } from './glob.ts';
export { ignoreRules, type IgnoreRules } from './ignore-rules.ts';
