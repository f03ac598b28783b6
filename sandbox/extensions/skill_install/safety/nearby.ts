import type { Hit, ScannedLine, ScannedText, Scanner } from './scan-finding.ts';

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

/** Lines that are looked at as one text, before any is looked at alone: short lines are many. */
interface Chunk {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Characters of a chunk. */
const AT_ONCE = 8 * 1024;

function* chunks(lines: readonly ScannedLine[]): Iterable<Chunk> {
  for (let from = 0; from < lines.length;) {
    const parts: string[] = [];
    let to = from;
    for (let length = 0; to < lines.length && length < AT_ONCE; to++) length += parts[parts.push(lines[to]!.plain) - 1]!.length + 1;
    yield { from, to, text: parts.join('\n') };
    from = to;
  }
}
