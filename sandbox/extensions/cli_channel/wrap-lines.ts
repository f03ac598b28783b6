import { stripVTControlCharacters } from 'node:util';
import { cells } from './word-wrap.ts';

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
  let current = indent;
  let spaces = '';
  for (const piece of line.slice(indent.length).split(/( +)/u)) {
    if (/^ +$/u.test(piece)) {
      spaces = piece;
      continue;
    }
    if (current.trim() === '' || widthOf(current + spaces + piece) <= columns) current += (current.trim() === '' ? '' : spaces) + piece;
    else {
      lines.push(current);
      current = indent + piece;
    }
    spaces = '';
  }
  return [...lines, current].join('\n');
}

function widthOf(text: string): number {
  return cells(stripVTControlCharacters(text));
}
