import type { Span } from './inline-markdown.ts';
import { stripVTControlCharacters } from 'node:util';

/** Turns a span's text into what the terminal is sent. */
export type Paint = (span: Span) => string;

/**
 * Writes spans, breaking lines between words at `width`. A word is held until the space after it has come;
 * nothing that was written is touched again.
 */
export class WordWrap {
  #column = 0;
  #indent = '';
  #space = '';
  #word: Span[] = [];
  #wordWidth = 0;

  constructor(
    private readonly write: (text: string) => void,
    private readonly paint: Paint,
    private readonly width: () => number,
  ) {}

  /** Begins a line with `lead`, which has `leadWidth` cells; wrapped lines stand `indent` in. */
  begin(lead: string, leadWidth: number, indent: string): void {
    this.write(lead);
    this.#column = leadWidth;
    this.#indent = indent;
    this.#space = '';
  }

  add(spans: readonly Span[]): void {
    for (const { text, looks } of spans) {
      for (const piece of text.split(/(\s+)/u)) {
        if (piece === '') continue;
        if (/^\s/u.test(piece)) {
          this.#flush();
          this.#space += piece;
        } else {
          this.#word.push({ text: piece, looks });
          this.#wordWidth += cells(piece);
        }
      }
    }
  }

  end(): void {
    this.#flush();
    this.#space = '';
    this.#column = 0;
    this.write('\n');
  }

  #flush(): void {
    if (this.#word.length === 0) return;
    const space = this.#space;
    const fits = this.#column + space.length + this.#wordWidth <= this.width();
    if (fits || this.#column <= this.#indent.length) {
      this.write(space);
      this.#column += space.length;
    } else {
      this.write(`\n${this.#indent}`);
      this.#column = this.#indent.length;
    }
    this.write(this.#word.map(this.paint).join(''));
    this.#column += this.#wordWidth;
    this.#word = [];
    this.#wordWidth = 0;
    this.#space = '';
  }
}

/** Cells that a terminal gives to a text. */
export function cells(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/^(?:\p{Mn}|\p{Me}|[\u{200b}-\u{200f}]|[\u{fe00}-\u{fe0f}])$/u.test(character)) continue;
    width += /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u.test(character)
      ? 2
      : 1;
  }
  return width;
}

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
  return cells(stripVTControlCharacters(text));
}
