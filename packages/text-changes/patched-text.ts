import { applyPatch, type StructuredPatch } from 'diff';
import { BYTE_ORDER_MARK, withLineEndsOf, withoutReturns } from './line-ends.ts';

type Hunk = StructuredPatch['hunks'][number];

/** A hunk that does not fit. */
export interface Misfit {
  /** Counts from 1. */
  readonly hunk: number;
  /** Where it is expected, from 1. */
  readonly line: number;
  /** The first line there that differs from the patch; undefined: the patch, or the text, has none. */
  readonly expected: string | undefined;
  readonly found: string | undefined;
}

/**
 * The text with all hunks applied, each where its lines are: as near as possible to the line that it names, and after the hunks before it.
 * Invisible differences do not count: line ends stay those of the text, and so does a byte order mark that the patch lacks.
 */
export function patchedText(text: string, hunks: readonly Hunk[]): string | Misfit {
  const isMarked = text.startsWith(BYTE_ORDER_MARK) && !hunks.some(({ lines }) => lines.join('').includes(BYTE_ORDER_MARK));
  const former = isMarked ? text.slice(1) : text;
  const plain = withoutReturns(former);
  const end = lineCount(plain) + 1;
  const ordered = inOrder(
    hunks.map((hunk, index) => ({
      ...hunk,
      number: index + 1,
      oldStart: Math.min(hunk.oldStart, end),
      lines: hunk.lines.map((line) => line.replace(/\r$/u, '')),
    })),
  );
  const after = applied(plain, ordered);
  if (after !== null) return (isMarked ? BYTE_ORDER_MARK : '') + withLineEndsOf(former, after);
  let [fitting, failing] = [0, ordered.length];
  while (failing - fitting > 1) {
    const middle = Math.floor((fitting + failing) / 2);
    if (applied(plain, ordered.slice(0, middle)) === null) failing = middle;
    else fitting = middle;
  }
  const hunk = ordered[fitting]!;
  return { ...firstDifference(plain, hunk), hunk: hunk.number };
}

/** None begins before the last change of the hunk before it, whatever line it names: `applyPatch` would take lines a second time. */
function inOrder<H extends Hunk>(hunks: readonly H[]): H[] {
  let least = 1;
  return hunks
    .toSorted((a, b) => a.oldStart - b.oldStart)
    .map((hunk) => {
      const oldStart = Math.max(hunk.oldStart, least);
      const lines = hunk.lines.filter((line) => !line.startsWith('\\'));
      const contextAfter = lines.length - 1 - lines.findLastIndex((line) => /^[+-]/u.test(line));
      least = oldStart + hunk.oldLines - contextAfter;
      return { ...hunk, oldStart };
    });
}

/** null: a hunk does not fit. */
function applied(text: string, hunks: Hunk[]): string | null {
  const most = lineCount(text);
  // The empty text after the last line end is no line.
  const compareLine = (at: number, line: string, _sign: string, wanted: string) => line === wanted && at <= most;
  const after = applyPatch(text, { hunks } as StructuredPatch, { compareLine, autoConvertLineEndings: false });
  const wanted = hunks.reduce((count, { oldLines, newLines }) => count + newLines - oldLines, most);
  // A hunk that only adds lines fits everywhere, even beyond the end: it would come after empty lines that nobody asked for.
  return after === false || lineCount(after) > wanted ? null : after;
}

function lineCount(text: string): number {
  return text === '' ? 0 : text.replace(/\n$/u, '').split('\n').length;
}

function firstDifference(text: string, { lines, oldStart }: Hunk): Omit<Misfit, 'hunk'> {
  const there = text.split('\n').slice(oldStart - 1);
  const old = lines.filter((line) => line.startsWith('-') || line.startsWith(' ')).map((line) => line.slice(1));
  const at = Math.max(
    0,
    old.findIndex((line, index) => line !== there[index]),
  );
  return { line: oldStart + at, expected: old[at], found: there[at] };
}
