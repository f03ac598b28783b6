import type { Hit, ScannedLine, ScannedText, Scanner, ScanSeverity } from './scan-finding.ts';

/** What a line is looked at for: an expression, or a `Sequence` where it has long gaps. It is also asked about several lines at once: `^` needs `m`. */
export type Sign = Pick<RegExp, 'test'>;

/** Signs that say little alone and much together. */
export interface NearbyRule extends Pick<Hit, 'severity' | 'code' | 'message'> {
  /** All of them are in so many lines that follow each other, in any order. */
  readonly signs: readonly Sign[];
  readonly lines: number;
  /** Only there; without it in both. */
  readonly kind?: ScannedText['kind'];
  /** A line in which this is counts for nothing. */
  readonly unless?: Sign;
}

/** Finds rules whose signs are near each other; each rule once a file, where its last sign is. Takes time in proportion to the text. */
export function nearby(rules: readonly NearbyRule[]): Scanner {
  return function* ({ kind, lines }) {
    const open = new Map(
      rules.filter((rule) => rule.kind === undefined || rule.kind === kind).map((rule) => [rule, rule.signs.map(() => -Infinity)]),
    );
    for (const { from, to, text } of chunks(lines)) {
      for (const [rule, seen] of open) {
        const here = [...rule.signs.keys()].filter((which) => rule.signs[which]!.test(text));
        for (let at = from; here.length > 0 && at < to; at++) {
          const { plain, number } = lines[at]!;
          const found = here.filter((which) => rule.signs[which]!.test(plain));
          if (found.length === 0 || rule.unless?.test(plain)) continue;
          for (const which of found) seen[which] = at;
          if (at - Math.min(...seen) >= rule.lines) continue;
          open.delete(rule);
          yield { severity: rule.severity, code: rule.code, line: number, message: rule.message };
          break;
        }
      }
      yield null;
    }
  };
}

/** A sign that is there where one of several is. */
export function oneOf(...signs: readonly Sign[]): Sign {
  return { test: (text) => signs.some((sign) => sign.test(text)) };
}

/** Characters of a chunk. */
const AT_ONCE = 8 * 1024;

/** Lines that are looked at as one text, before any is looked at alone: short lines are many. */
function* chunks(lines: readonly ScannedLine[]): Iterable<{ readonly from: number; readonly to: number; readonly text: string }> {
  for (let from = 0; from < lines.length;) {
    const parts: string[] = [];
    let to = from;
    for (let length = 0; to < lines.length && length < AT_ONCE; to++) length += parts[parts.push(lines[to]!.plain) - 1]!.length + 1;
    yield { from, to, text: parts.join('\n') };
    from = to;
  }
}

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

/** A place where something is in a text. */
interface Occurrence {
  readonly index: number;
  readonly text: string;
}

/**
 * Finds parts of a text that follow each other, each at most so many characters behind the one before: `'curl', 240, '\\| *sh'`.
 * The same as one expression with `.{0,240}?` between them, but it looks at each occurrence of a part once, however many there are.
 */
export class Sequence {
  readonly #parts: readonly RegExp[];
  readonly #gaps: readonly number[];

  /** Parts ignore case; none matches the empty text. */
  constructor(...parts: readonly (string | number)[]) {
    this.#parts = parts.filter((part) => typeof part === 'string').map((part) => new RegExp(part, 'gim'));
    this.#gaps = parts.filter((part) => typeof part === 'number');
  }

  /** Whether they are somewhere. */
  test(text: string): boolean {
    return this.find(text) !== null;
  }

  /** The first place where all are, each as near to the one before as may be. */
  find(text: string): Occurrence | null {
    return this.#places(text, true)[0] ?? null;
  }

  /** Every such place. */
  all(text: string): readonly Occurrence[] {
    return this.#places(text, false);
  }

  #places(text: string, first: boolean): readonly Occurrence[] {
    let later: readonly Span[] | null = null;
    for (let at = this.#parts.length - 1; at >= 0; at--) {
      later = spans(text, this.#parts[at]!, first && at === 0, later === null ? null : { spans: later, gap: this.#gaps[at]! });
      if (later.length === 0) return [];
    }
    return later!.map(([from, to]) => ({ index: from, text: text.slice(from, to) }));
  }
}

/** From where to where the parts from one on are. */
type Span = readonly [from: number, to: number];

/** Where a part is with one of the `later` spans behind it. */
function spans(
  text: string,
  part: RegExp,
  first: boolean,
  later: { readonly spans: readonly Span[]; readonly gap: number } | null,
): readonly Span[] {
  const found: Span[] = [];
  part.lastIndex = 0;
  for (let match = part.exec(text); match !== null; match = part.exec(text)) {
    const from = match.index;
    const end = from + match[0].length;
    part.lastIndex = from + 1;
    const next = later === null ? null : later.spans[firstFrom(later.spans, end)];
    if (next === null) found.push([from, end]);
    else if (next !== undefined && next[0] <= end + later!.gap) found.push([from, next[1]]);
    if (first && found.length > 0) break;
  }
  return found;
}

/** The index of the first span that begins at `at` or behind it. */
function firstFrom(sorted: readonly Span[], at: number): number {
  let low = 0;
  for (let high = sorted.length; low < high;) {
    const middle = (low + high) >> 1;
    if (sorted[middle]![0] < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** An order not to do it; `Do not go on before it runs` is none. */
const FORBIDS = String.raw`\b(?:never|do not|don't|don\u2019t|must not|mustn't|should not|shouldn't|cannot|avoid|refuse to|leave out)\s(?:\w{1,12}\s){0,2}(?:run|execut|open|launch|start|download|extract|unpack|past|install|follow|visit|guess|send|upload|shar|print|commit|copy|includ|post|read|log|leak|put|add|writ|us|chang|switch|turn|disabl|pip|do|touch|accept|allow|any)(?:ing|e|es|ting)?\b`;

/** Lines that warn of something or teach it: by such an order, or by these words besides. */
export function warning(words: string): RegExp {
  return new RegExp(String.raw`${FORBIDS}|\b(?:red flags?|suspicious|malicious|attack\w{0,6}|${words})\b`, 'i');
}
