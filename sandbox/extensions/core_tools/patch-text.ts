import type { StructuredPatch } from 'diff';
import { BYTE_ORDER_MARK, linesOf, textOfLines, type Line } from '@pith/safe-files';

type Hunk = StructuredPatch['hunks'][number];

/** A hunk that does not fit. */
export interface Misfit {
  /** Counts from 1. */
  readonly hunk: number;
  /** Where the patch expects it, from 1. */
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
  const mark =
    text.startsWith(BYTE_ORDER_MARK) && !hunks.some(({ lines }) => lines.join('').includes(BYTE_ORDER_MARK)) ? BYTE_ORDER_MARK : '';
  const lines = linesOf(text.slice(mark.length));
  const lineEnd = lines.find(({ end }) => end !== '')?.end ?? '\n';
  const after: Line[] = [];
  let taken = 0;
  let drift = 0;
  const ordered = hunks.map((hunk, index) => ({ hunk, index })).toSorted((a, b) => a.hunk.oldStart - b.hunk.oldStart);
  for (const { hunk, index } of ordered) {
    const steps = stepsOf(hunk);
    const wanted = hunk.oldStart - 1 + drift;
    const at = placeOf(lines, steps, { wanted, least: taken });
    if (at === null) return misfitAt(lines, steps, { hunk: index + 1, line: hunk.oldStart });
    drift += at - wanted;
    after.push(...lines.slice(taken, at), ...madeBy(steps, lines, { start: at, lineEnd }));
    taken = at + steps.filter(isOld).length;
  }
  after.push(...lines.slice(taken));
  return mark + textOfLines(after.map((line, index) => (line.end === '' && index < after.length - 1 ? { ...line, end: lineEnd } : line)));
}

interface Step {
  readonly sign: string;
  readonly text: string;
  /** The patch says that the text ends here, without a newline. */
  readonly isEnd: boolean;
}

function stepsOf({ lines }: Hunk): readonly Step[] {
  return lines.flatMap((line, index) => {
    if (line.startsWith('\\')) return [];
    return [{ sign: line.charAt(0), text: line.slice(1).replace(/\r$/u, ''), isEnd: lines[index + 1]?.startsWith('\\') === true }];
  });
}

function isOld({ sign }: Step): boolean {
  return sign !== '+';
}

/** The place nearest to the wanted one. null: there is none. */
function placeOf(
  lines: readonly Line[],
  steps: readonly Step[],
  { wanted, least }: { readonly wanted: number; readonly least: number },
): number | null {
  const old = steps.filter(isOld);
  const most = lines.length - old.length;
  const fits = (at: number) => at >= least && at <= most && old.every((step, index) => isAs(lines[at + index], step));
  const farthest = Math.max(Math.abs(wanted - least), Math.abs(most - wanted));
  for (let far = 0; far <= farthest; far += 1)
    for (const at of far === 0 ? [wanted] : [wanted + far, wanted - far]) if (fits(at)) return at;
  return null;
}

function isAs(line: Line | undefined, { text, isEnd }: Step): boolean {
  return line?.text === text && (!isEnd || line.end === '');
}

/** The resulting lines. An added line ends like the removed line that it replaces, else like its neighbour. */
function madeBy(
  steps: readonly Step[],
  lines: readonly Line[],
  { start, lineEnd }: { readonly start: number; readonly lineEnd: Line['end'] },
): readonly Line[] {
  const made: Line[] = [];
  let at = start;
  /** The line ends of removed lines that are not replaced yet. */
  let free: Line['end'][] = [];
  for (const { sign, text, isEnd } of steps) {
    const line = lines[at];
    if (sign === '+') {
      const neighbour = made.at(-1) ?? lines[start - 1] ?? line;
      made.push({ text, end: isEnd ? '' : (free.shift() ?? neighbour?.end ?? lineEnd) });
      continue;
    }
    at += 1;
    if (sign === '-') free.push(isEnd || line === undefined ? lineEnd : line.end);
    else if (line !== undefined) {
      made.push(line);
      free = [];
    }
  }
  return made;
}

function misfitAt(lines: readonly Line[], steps: readonly Step[], misfit: Pick<Misfit, 'hunk' | 'line'>): Misfit {
  const old = steps.filter(isOld);
  const wrong = Math.max(
    0,
    old.findIndex((step, index) => !isAs(lines[misfit.line - 1 + index], step)),
  );
  return { ...misfit, line: misfit.line + wrong, expected: old[wrong]?.text, found: lines[misfit.line - 1 + wrong]?.text };
}
