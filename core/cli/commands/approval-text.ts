import type { JsonValue } from '../../contract/index.ts';
import { displayWidth, printableLine } from '@pith/plain-text';
import type pc from 'picocolors';
import { argumentsOf, askersText, shownQuestion, startersOfPath, summaryOf, type Approval } from '../../agent/index.ts';

/** The most lines of a tool's text where the terminal's height is unknown. */
export const SCREEN_LINES = 40;
const LONGEST_LINE = 400;

type Colours = Pick<ReturnType<typeof pc.createColors>, 'bold' | 'dim' | 'green' | 'red' | 'yellow'>;

interface QuestionLook {
  /** The most lines of the tool's text and of its arguments, each; Infinity: all. */
  readonly most: number;
  /** The command that shows all of it. */
  readonly wholeBy: string;
  readonly colour: Colours;
  /** The terminal's width; Infinity: lines are not wrapped. */
  readonly columns: number;
}

/**
 * A question in lines for a person: what the call does, who asks if it is not the agent they talk with, the tool's own text or else the
 * arguments, and what is enforced. Only a shipped tool's text may replace the arguments: a foreign tool may claim anything.
 */
export function questionLines(approval: Approval, look: QuestionLook): readonly string[] {
  const { path, input, details, enforced, ships, summary } = approval;
  const { colour } = look;
  const text = details?.trim() ? detailLines(details, colour) : [];
  const saysAll = ships && summary !== null && text.length > 0;
  const blocks = [text, saysAll ? [] : argumentLines(input)].map((lines) => bounded(lines, look));
  const isAsked = path.length > 1 || startersOfPath(path).length > 0;
  return [
    ...rowsOf(printableLine(summaryOf(approval)), look.columns).map((row) => colour.bold(row)),
    ...(isAsked ? [colour.dim(`  asked by ${askersText(path)}`)] : []),
    ...blocks.flat(),
    ...(enforced === null ? [] : [`  ${enforcedLine(enforced, colour)}`]),
  ];
}

export function enforcedLine(enforced: string, colour: Colours): string {
  const line = printableLine(enforced);
  return line.startsWith('not ') ? colour.yellow(line) : colour.dim(line);
}

/** The first lines, and the exact number left out. Cuts the tool's text and the arguments separately, so that neither hides the other. */
function bounded(lines: readonly Line[], { most, wholeBy, colour, columns }: QuestionLook): readonly string[] {
  const rowsOfLine = ({ text }: Line) => rowsOf(most === Infinity ? text : printableLine(text, LONGEST_LINE + 1), columns - INDENT.length);
  let [shownLines, rows] = [0, 0];
  for (const line of lines) {
    rows += rowsOfLine(line).length;
    if (rows > most && shownLines > 0) break; // one line is always shown
    shownLines += 1;
  }
  const shown = lines.slice(0, shownLines);
  const more = lines.length - shown.length;
  const long = most === Infinity ? [] : shown.filter(({ text }) => text.length > LONGEST_LINE);
  const characters = long.reduce((sum, { text }) => sum + text.length - LONGEST_LINE, 0);
  const left = [
    ...(more > 0 ? [`${more} more ${more === 1 ? 'line' : 'lines'}`] : []),
    ...(characters > 0 ? [`${characters} characters at the end of ${long.length} ${long.length === 1 ? 'line' : 'lines'}`] : []),
  ];
  const painted = shown.flatMap((line) => rowsOfLine(line).map((row) => `${INDENT}${line.paint(row)}`));
  return left.length === 0
    ? painted
    : [...painted, `${INDENT}${colour.yellow(`… not shown: ${left.join(' and ')}; ${wholeBy} shows all ${lines.length} lines`)}`];
}

const INDENT = '  ';
const CONTINUED = '┆ ';
const FEWEST_COLUMNS = 20;

/** A line in rows of the terminal. Each row but the first begins with a mark, so that no long text can pass for a line of Pith. */
function rowsOf(line: string, columns: number): readonly string[] {
  const most = Math.max(columns, FEWEST_COLUMNS);
  if (displayWidth(line) <= most) return [line];
  const rows: string[] = [];
  let [row, width] = ['', 0];
  for (const character of line) {
    const cells = displayWidth(character);
    if (width + cells > most) {
      rows.push(row);
      [row, width] = [CONTINUED, CONTINUED.length];
    }
    row += character;
    width += cells;
  }
  return [...rows, row];
}

interface Line {
  /** Printable. */
  readonly text: string;
  paint(text: string): string;
}

const PLAIN = String;

/** The tool's own text, each line behind a bar that no text can forge. A unified diff is coloured. */
export function detailLines(details: string, colour: Colours): readonly Line[] {
  const lines = details.replace(/\n+$/u, '').split('\n');
  let isDiff = false;
  return lines.map((line, index) => {
    const heads = line.startsWith('--- ') && lines[index + 1]?.startsWith('+++ ');
    if (heads) isDiff = true;
    const paint = isDiff ? paintOf(line, heads === true || lines[index - 1]?.startsWith('--- ') === true, colour) : PLAIN;
    return { text: `│ ${printableLine(line.replaceAll('\t', '  ').replace(/\r$/u, ''))}`, paint };
  });
}

function paintOf(line: string, isHead: boolean, colour: Colours): (text: string) => string {
  if (isHead || /^(?:@@|={3,}|Index: |\\ )/u.test(line)) return colour.dim;
  return line.startsWith('+') ? colour.green : line.startsWith('-') ? colour.red : PLAIN;
}

/** Each argument on a line; texts of several lines are below their names, each line behind a bar. */
export function argumentLines(input: JsonValue): readonly Line[] {
  const given = argumentsOf(input);
  const lines = given.length === 0 ? ['no arguments'] : given.flatMap(([name, value]) => valueLines(printableLine(name), value ?? null));
  return lines.map((text) => ({ text, paint: PLAIN }));
}

function valueLines(name: string, value: JsonValue): readonly string[] {
  if (typeof value === 'string' && value.includes('\n'))
    return [`${name}:`, ...value.split('\n').map((line) => `  │ ${printableLine(line.replaceAll('\t', '  '))}`)];
  return [`${name}: ${printableLine(JSON.stringify(value) ?? 'null')}`];
}

/** The JSON shape of `approvals --json`. */
export function approvalJson(approval: Approval) {
  const { number, key, expiresAt } = approval;
  return { number, ...shownQuestion(approval), ...(key === null ? {} : { key }), expiresAt };
}
