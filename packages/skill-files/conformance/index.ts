export { conformanceCases } from './cases.ts';
export { checkLoader } from './check-loader.ts';
export { conformanceInput, ConformanceMisused, conformanceUsage, runConformance } from './command.ts';
