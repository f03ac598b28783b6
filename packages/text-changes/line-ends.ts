import { diffLines } from 'diff';

/** Some editors put it before a text. */
export const BYTE_ORDER_MARK = String.fromCodePoint(0xfeff);

/** A line of a text with its line end, which is empty at the end of the text. */
export interface Line {
  readonly text: string;
  readonly end: '\n' | '\r\n' | '';
}

export function linesOf(text: string): readonly Line[] {
  return (text.match(/[^\n]*\n|[^\n]+/gu) ?? []).map((line) => {
    const end = line.endsWith('\r\n') ? '\r\n' : line.endsWith('\n') ? '\n' : '';
    return { text: line.slice(0, line.length - end.length), end };
  });
}

/** A text for comparison: every line end is `\n`. */
export function withoutReturns(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/**
 * `text` with the line ends of `former`: a line that stays or is replaced keeps its end, and a new one ends like the line before it. As
 * given where `former` has no CR LF.
 */
export function withLineEndsOf(former: string, text: string): string {
  if (!former.includes('\r\n')) return text;
  const plain = withoutReturns(text);
  const own = former.match(/\r?\n/gu) ?? [];
  const [first = '\n'] = own;
  const ends = own.every((end) => end === first) ? [] : endsAfter(withoutReturns(former), plain, own);
  let line = 0;
  return plain.replaceAll('\n', () => ends[line++] ?? first);
}

/** More changed lines are not compared: then the lines take the ends in their order. */
const MOST_COMPARED = 1000;

function endsAfter(former: string, text: string, own: readonly string[]): readonly string[] {
  const replaced = [
    { removed: true, added: false, value: former },
    { removed: false, added: true, value: text },
  ];
  const ends: string[] = [];
  let at = 0;
  /** The ends of removed lines that are not replaced yet. */
  let free: string[] = [];
  for (const { added, removed, value } of diffLines(former, text, { maxEditLength: MOST_COMPARED }) ?? replaced) {
    const count = value.split('\n').length - 1;
    if (added) {
      for (let made = 0; made < count; made += 1) ends.push(free.shift() ?? ends.at(-1) ?? own[at] ?? '\n');
      continue;
    }
    const passed = own.slice(at, at + count);
    at += count;
    free = removed ? passed : [];
    if (!removed) ends.push(...passed);
  }
  return ends;
}
