import type { RE2JS } from 're2js';
import type { Finding } from './finding.ts';

/** A pattern that tells whether a text contains it, in time linear in the text. */
export type Pattern = Pick<RE2JS, 'test'>;

/** Compiles patterns, ignoring case. Imported by the first skill that has one. */
export async function loadPatternCompiler(): Promise<(pattern: string) => Pattern | { readonly problem: string }> {
  const { RE2JS } = await import('re2js');
  return (pattern) => {
    if (pattern.length > LONGEST) return { problem: `it is longer than ${LONGEST} characters` };
    try {
      return RE2JS.compile(pattern.normalize('NFKC'), RE2JS.CASE_INSENSITIVE);
    } catch (error) {
      return { problem: String((error as Error).message).replace(/^error parsing regexp: /, '') };
    }
  };
}

/** The patterns that cannot be used, each with what is wrong and where in `text`, the file, it stands. */
export async function refusedPatterns(patterns: readonly string[], text: string): Promise<ReadonlyMap<string, Finding>> {
  const compile = await loadPatternCompiler();
  const refused = new Map<string, Finding>();
  for (const pattern of patterns) {
    const compiled = compile(pattern);
    if ('problem' in compiled) refused.set(pattern, { code: 'pattern_invalid', detail: compiled.problem, ...placeOf(pattern, text) });
  }
  return refused;
}

/** Far above what anybody writes; compiling costs more than the length. */
const LONGEST = 1000;

/** Where it stands as it is or as a quoted scalar writes it; else the line of its key. */
function placeOf(pattern: string, text: string): { line?: number; column?: number } {
  const lines = text.split('\n');
  const key = lines.findIndex((line) => /^\s*["']?patterns["']?\s*:|[{,]\s*["']?patterns["']?\s*:/.test(line));
  const written = [pattern, pattern.replaceAll("'", "''"), JSON.stringify(pattern).slice(1, -1)];
  for (let index = Math.max(key, 0); index < lines.length; index++) {
    const columns = written.map((form) => lines[index]!.indexOf(form, index === key ? lines[index]!.indexOf('patterns') + 8 : 0));
    const column = columns.find((at) => at !== -1);
    if (column !== undefined) return { line: index + 1, column: column + 1 };
  }
  return key === -1 ? {} : { line: key + 1, column: lines[key]!.indexOf('patterns') + 1 };
}
