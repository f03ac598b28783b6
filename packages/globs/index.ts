export { globMatcher } from './glob.ts';
export { ignoreRules, type IgnoreRules } from './ignore-rules.ts';
