import { displayWidth } from '@pith/plain-text';
import type { Span } from './inline-markdown.ts';

/** Turns a span's text into what the terminal is sent. */
export type Paint = (span: Span) => string;

/**
 * Writes spans, breaking lines between words at `width`. A word waits until the space after it has come;
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

  /** Begins a line with `lead`, which has `leadWidth` cells; wrapped lines begin with `indent`. */
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
          this.#wordWidth += displayWidth(piece);
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
