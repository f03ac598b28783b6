export { conformanceCases } from './cases.ts';
export { checkLoader } from './check-loader.ts';
export { ConformanceMisused, runConformance } from './command.ts';
