import { displayWidth } from '@pith/plain-text';

/** What a terminal shows of the bytes that it is sent, with all that has scrolled away. Colours are not kept. */
export class TerminalScreen {
  #lines: string[][] = [[]];
  #row = 0;
  #column = 0;
  #rest = '';

  constructor(
    public columns = 80,
    public rows = 24,
  ) {}

  write(chunk: string): void {
    const text = this.#rest + chunk;
    this.#rest = '';
    for (let at = 0; at < text.length;) {
      // oxlint-disable-next-line no-control-regex
      const control = /^\u001b\[([<=>?]?)([\d;]*)([@-~])/u.exec(text.slice(at));
      if (control) {
        if (control[1] === '') this.#control(control[3] ?? '', Number((control[2] ?? '').split(';')[0] || 1), control[2] ?? '');
        at += control[0].length;
      } else if (text[at] === '\u001b') {
        this.#rest = text.slice(at);
        return;
      } else {
        const [{ segment } = { segment: '' }] = new Intl.Segmenter().segment(text.slice(at, at + 32));
        this.#put(segment);
        at += segment.length;
      }
    }
  }

  /** Every line, without the spaces at its end. */
  text(): string {
    return this.#lines.map(lineText).join('\n');
  }

  /** The lines that stand in the window now. */
  window(): readonly string[] {
    return this.#lines.slice(this.#top).map(lineText);
  }

  /** The line that the cursor is in, up to the cursor. */
  beforeCursor(): string {
    return (this.#lines[this.#row] ?? []).slice(0, this.#column).join('');
  }

  get #top(): number {
    return Math.max(0, this.#lines.length - this.rows);
  }

  #control(final: string, count: number, given: string): void {
    const line = this.#lines[this.#row] ?? [];
    switch (final) {
      case 'A':
        this.#row = Math.max(this.#top, this.#row - count);
        return;
      case 'B':
        this.#row = Math.min(this.#lines.length - 1, this.#row + count);
        return;
      case 'C':
        this.#column = Math.min(this.columns - 1, this.#column + count);
        return;
      case 'D':
        this.#column = Math.max(0, this.#column - count);
        return;
      case 'H':
        this.#row = this.#top;
        this.#column = 0;
        return;
      case 'J':
        if (given === '2') this.#lines = this.#lines.map((each, row) => (row < this.#top ? each : []));
        else {
          line.length = Math.min(line.length, this.#column);
          this.#lines.length = this.#row + 1;
        }
        return;
      case 'K':
        if (given === '2') line.length = 0;
        else line.length = Math.min(line.length, this.#column);
    }
  }

  #put(segment: string): void {
    if (segment === '\r') this.#column = 0;
    else if (segment === '\n' || segment === '\r\n') this.#newLine();
    else {
      const width = displayWidth(segment);
      if (this.#column + width > this.columns) this.#newLine();
      const line = (this.#lines[this.#row] ??= []);
      while (line.length < this.#column) line.push(' ');
      line[this.#column] = segment;
      if (width === 2) line[this.#column + 1] = '';
      this.#column += width;
    }
  }

  #newLine(): void {
    this.#row += 1;
    this.#column = 0;
    this.#lines[this.#row] ??= [];
  }
}

function lineText(line: readonly string[]): string {
  return line.join('').trimEnd();
}
