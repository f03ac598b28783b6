import { eastAsianWidth } from 'get-east-asian-width';

/** The cells of a text in a terminal: wide letters and most emoji take two, combining marks and colours none. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes(text.replaceAll(COLOUR, ''))) width += cellsOf(segment);
  return width;
}

/** The graphemes of a text with their positions. */
export function* graphemes(text: string): Generator<{ readonly segment: string; readonly index: number }> {
  if (PLAIN.test(text)) for (let index = 0; index < text.length; index += 1) yield { segment: text.charAt(index), index };
  else yield* new Intl.Segmenter().segment(text);
}

/** Characters of one cell that never combine. Segmenting any others costs 10 ms at the first use. */
const PLAIN = /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2030-\u205e]*$/u;
// oxlint-disable-next-line no-control-regex
const COLOUR = /\u001b\[[\d;]*m/gu;
const UNSEEN = /^[\p{Default_Ignorable_Code_Point}\p{Control}\p{Format}\p{Mark}\p{Surrogate}]+/u;
/**
 * Emoji of several code points: emoji presentation, a skin colour, a second picture after a joiner, a keycap, a flag. The property
 * RGI_Emoji would list them exactly, but compiling that expression takes 30 ms.
 */
const EMOJI =
  /^(?:(?![\d#*\p{Regional_Indicator}])\p{Emoji}\ufe0f(?!\u20e3)|\p{Emoji_Modifier_Base}\ufe0f?\p{Emoji_Modifier}|\p{Extended_Pictographic}.*\u200d.*\p{Extended_Pictographic}|[\d#*]\ufe0f?\u20e3|\p{Regional_Indicator}{2})/su;
/** Code points that take cells of their own within a grapheme: a further Hangul syllable, a half or full form after a letter. */
const OWN_CELLS = /[\u1100-\u115f\ua960-\ua97c\uac00-\ud7a3\uff00-\uffef]/u;

function cellsOf(grapheme: string): number {
  const [first = '', ...others] = grapheme.replace(UNSEEN, '');
  if (first === '') return 0;
  if (EMOJI.test(grapheme)) return 2;
  return [first, ...others.filter((other) => OWN_CELLS.test(other))].reduce(
    (sum, each) => sum + eastAsianWidth(each.codePointAt(0) ?? 0),
    0,
  );
}

/** `text` with long lines wrapped between words; a wrapped row is indented like its line. Colours have no width. */
export function wrapLines(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => (displayWidth(line) <= columns ? line : wrapLine(line, columns)))
    .join('\n');
}

function wrapLine(line: string, columns: number): string {
  const indent = /^ */u.exec(line)?.[0] ?? '';
  const lines: string[] = [];
  let current = '';
  for (const [, spaces = '', word = ''] of line.matchAll(/( *)([^ ]+)/gu)) {
    if (current === '' || displayWidth(current + spaces + word) <= columns) current += spaces + word;
    else {
      lines.push(current);
      current = indent + word;
    }
  }
  return [...lines, current].join('\n');
}
