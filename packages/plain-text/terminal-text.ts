import stringWidth from 'string-width';

/** Cells that a terminal gives to a text: wide letters and most emoji take two, combining marks none. */
export function displayWidth(text: string): number {
  return PLAIN.test(text) ? text.length : stringWidth(text);
}

const PLAIN = /^[\x20-\x7e]*$/;

/** `text` with its long lines broken between words; what follows a break is as far in as its line. Colours have no width. */
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
