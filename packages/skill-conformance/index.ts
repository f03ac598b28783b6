export type { Case, Verdict } from './case.ts';
export { conformanceCases } from './cases.ts';
export { checkLoader, type LoaderCheck } from './check-loader.ts';
export { LISTING_FIELDS } from './listing.ts';
export { casesText, reportJson, reportText, scoreOf } from './report.ts';
export type { Result } from './result.ts';
export { runLoader } from './run-loader.ts';
