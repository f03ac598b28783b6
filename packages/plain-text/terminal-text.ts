import { stripVTControlCharacters } from 'node:util';

/** Cells that a terminal gives to a text: wide letters and most emoji take two, combining marks none. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (EMOJI.test(segment)) width += 2; // however many are joined
    else for (const character of segment) width += NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  }
  return width;
}

const PLAIN = /^[\x20-\x7e]*$/;
const EMOJI = new RegExp('^\\p{RGI_Emoji}$', 'v'); // the compiler's target has no literal of it
const NO_WIDTH = /^(?:\p{Mn}|\p{Me}|[\u{200b}-\u{200f}]|[\u{fe00}-\u{fe0f}])$/u;

const WIDE =
  /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;

/** `text` with its long lines broken between words; what follows a break stands as far in as its line. Colours have no width. */
export function wrapLines(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => (widthOf(line) <= columns ? line : wrapLine(line, columns)))
    .join('\n');
}

function wrapLine(line: string, columns: number): string {
  const indent = /^ */u.exec(line)?.[0] ?? '';
  const lines: string[] = [];
  let current = '';
  for (const [, spaces = '', word = ''] of line.matchAll(/( *)([^ ]+)/gu)) {
    if (current === '' || widthOf(current + spaces + word) <= columns) current += spaces + word;
    else {
      lines.push(current);
      current = indent + word;
    }
  }
  return [...lines, current].join('\n');
}

function widthOf(text: string): number {
  return displayWidth(stripVTControlCharacters(text));
}
