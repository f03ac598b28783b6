import type { YamlDocument, YamlOptions } from './yaml-document.ts';

export {
  asIgnored,
  describe,
  fieldProblems,
  issuesToDiagnostics,
  knownKeys,
  pathText,
  saidIgnored,
  unknownKey,
  unreadKeys,
  type FieldProblem,
  type Finding,
} from './findings.ts';
export { isNote, parseLeniently } from './lenient-parse.ts';
export { positionOf, type Positions } from './positions.ts';

/**
 * Parses YAML 1.2 (core schema). Never rejects: problems of the text are in `diagnostics`. Loads the parser only for text that is not
 * empty.
 */
export async function parseYaml(text: string, options: YamlOptions): Promise<YamlDocument> {
  return (await import('./yaml-document.ts')).parseYaml(text, options);
}
