import type { ScanSeverity } from './scan-finding.ts';
import { Sequence } from './sequence.ts';

/** What a line breaks in which the pattern is. */
export interface ScanRule {
  readonly code: string;
  readonly severity: ScanSeverity;
  readonly message: string;
  readonly pattern: Sequence;
}

/** A line `code severity: message`, and below it the patterns of which that is said; `<80>` before one that follows in so many characters. */
export function ruleTable(text: string): readonly ScanRule[] {
  return [...text.matchAll(/^(\w+) (\w+): (.+)\n((?: .+\n?)+)/gmu)].flatMap(([, code = '', severity, message = '', patterns = '']) =>
    patterns
      .trim()
      .split(/\n {2}(?!<\d)/u)
      .map((parts): ScanRule => {
        const pattern = new Sequence(...parts.split(/\n {2}<(\d+)> /u).map((part, at) => (at % 2 === 0 ? part : Number(part))));
        return { code, severity: severity as ScanSeverity, message, pattern };
      }),
  );
}
