import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { effortOf } from '@pith/patterns';
import type { RE2JS } from 're2js';
import { type Finding, placeAt } from './finding.ts';
import { FRONTMATTER_LIMIT } from './frontmatter.ts';

/** A compiled pattern. Matching takes time linear in the text and in the program's instructions. */
export type Pattern = Pick<RE2JS, 'test' | 'programSize'>;

/** Loads a compiler for patterns of limited size, which ignores case. Imported for the first skill with a pattern. */
export async function loadPatternCompiler(): Promise<(pattern: string) => Pattern | { readonly problem: string }> {
  const { RE2JS } = await import('re2js');
  return (written) => {
    const pattern = written.normalize('NFKC');
    if (pattern.length > LONGEST) return { problem: `it is longer than ${LONGEST} characters` };
    if (effortOf(pattern) > LARGEST) return { problem: TOO_LARGE };
    try {
      const compiled = RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE);
      return compiled.programSize() > LARGEST ? { problem: TOO_LARGE } : compiled;
    } catch (error) {
      return { problem: String((error as Error).message).replace(/^error parsing regexp: /, '') };
    }
  };
}

/** Unusable patterns, with the reason and the position in `text`, the file; null for a pattern that another finding reports. */
export async function refusedPatterns(patterns: readonly string[], text: string): Promise<ReadonlyMap<string, Finding | null>> {
  const compile = await loadPatternCompiler();
  const refused = new Map<string, Finding | null>();
  const placeOf = placesIn(text);
  const refuse = (pattern: string, detail: string) => refused.set(pattern, { code: 'pattern_invalid', detail, ...placeOf(pattern) });
  let spent = 0;
  let slice = 0;
  const own = [...new Set(patterns)];
  for (const [at, pattern] of own.entries()) {
    const effort = EACH + Math.min(effortOf(pattern.slice(0, LONGEST)), LARGEST);
    spent += effort;
    if (spent > ALL) {
      for (const one of own.slice(at + 1)) refused.set(one, null);
      refuse(pattern, `the patterns of one skill are too large together; of ${own.length} the last ${own.length - at} are too many`);
      break;
    }
    const compiled = compile(pattern);
    if ('problem' in compiled) refuse(pattern, compiled.problem);
    slice += effort;
    if (slice < AT_ONCE) continue;
    slice = 0;
    await yieldToOthers();
  }
  await yieldToOthers(); // a scan reads many skills
  return refused;
}

/** In characters, far more than anybody writes; compiling costs more than the length suggests. */
const LONGEST = 1000;
/** The most instructions of one pattern: `.{0,100}` has 200. */
const LARGEST = 300;
const TOO_LARGE = `it is too large: of its parts, each counted as often as it may occur, it has more than ${LARGEST}`;
/** The most instructions of all patterns of a skill, where each pattern adds a little of its own. */
const ALL = 2000;
const EACH = 20;
/** Instructions between two yields: a few milliseconds. */
const AT_ONCE = 400;

/** The position of a pattern, as it is or as a quoted scalar writes it; else that of its key. */
function placesIn(text: string): (pattern: string) => { line?: number; column?: number } {
  const head = text.slice(0, FRONTMATTER_LIMIT);
  const match = /(?:^|[{,])[^\S\n]*["']?patterns["']?[^\S\n]*:/m.exec(head);
  const key = match === null ? -1 : match.index + match[0].indexOf('patterns');
  return (pattern) => {
    const written = [pattern, pattern.replaceAll("'", "''"), JSON.stringify(pattern).slice(1, -1)];
    const found = written.map((form) => head.indexOf(form, key === -1 ? 0 : key + 8)).filter((at) => at !== -1);
    const at = found.length === 0 ? key : Math.min(...found);
    return at === -1 ? {} : placeAt(head, at);
  };
}
