import { stripVTControlCharacters } from 'node:util';
import { displayWidth } from './table.ts';

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
