import { breakPainted, clipPainted, widthOf } from './rows.ts';

/** The rows to draw below the printed text. None is longer than the columns that were asked for. */
export interface AreaFrame {
  readonly rows: readonly string[];
  /** The cursor's place in the rows. */
  readonly cursor: { readonly row: number; readonly column: number };
}

export interface AreaOutput {
  write(text: string): unknown;
  readonly columns?: number;
  readonly rows?: number;
}

/**
 * The terminal's last rows, which are redrawn while text is printed above them. A printed line without its end belongs to the area until
 * the end comes, so that the area never splits a line.
 */
export class LiveArea {
  /** Printed text that is not drawn yet. */
  #pending = '';
  /** The unfinished last line of the printed text. */
  #unfinished = '';
  /** What the terminal shows now: the widths of the rows, and the cursor. */
  #drawn: { readonly widths: readonly number[]; readonly row: number; readonly column: number } | null = null;
  #last = '';
  #scheduled = false;
  #closed = false;
  /** Another program has the terminal: what is printed waits. */
  #isHeld = false;

  constructor(
    private readonly output: AreaOutput,
    /** Called for every drawing. */
    private readonly compose: (columns: number, rows: number) => AreaFrame,
  ) {}

  /** One less than the terminal has, since terminals differ when a row is filled to its end. */
  get columns(): number {
    return Math.max(4, (this.output.columns || 80) - 1);
  }

  get #rows(): number {
    return Math.max(3, (this.output.rows || 24) - 1);
  }

  /** Prints above the area. */
  write(text: string): void {
    if (this.#closed) return void this.output.write(text);
    this.#pending += text;
    this.refresh();
  }

  /** Schedules one redraw for all changes of this moment. */
  refresh(): void {
    if (this.#scheduled || this.#closed || this.#isHeld) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#draw());
  }

  /** Redraws after a resize, which may have wrapped rows differently. */
  resized(): void {
    this.#last = '';
    this.refresh();
  }

  /** Clears the screen; printed text stays in the terminal's history. */
  clearScreen(): void {
    this.#drawn = null;
    this.#last = '';
    this.output.write('\u001b[H\u001b[2J');
    this.refresh();
  }

  /** Removes the area, so that another program can use the terminal. What is printed waits for `show`. */
  hide(): void {
    this.#flush(this.#hasOpenLine ? '\n' : '');
    this.#isHeld = true;
  }

  show(): void {
    this.#isHeld = false;
    this.refresh();
  }

  /** Removes the area; printed text stays. */
  close(): void {
    if (this.#closed) return;
    this.#flush(this.#hasOpenLine ? '\n' : '');
    this.#closed = true;
  }

  /** What is printed has no end of line yet. */
  get #hasOpenLine(): boolean {
    return !/(?:^|\n)$/u.test(this.#unfinished + this.#pending);
  }

  #flush(end: string): void {
    const text = this.#unfinished + this.#pending;
    this.#unfinished = '';
    this.#pending = '';
    const erased = this.#erase();
    if (erased + text + end !== '') this.output.write(erased + text + end);
    this.#drawn = null;
    this.#last = '';
  }

  #draw(): void {
    this.#scheduled = false;
    if (this.#closed || this.#isHeld) return;
    const printed = this.#unfinished + this.#pending;
    const end = printed.lastIndexOf('\n') + 1;
    this.#unfinished = printed.slice(end);
    this.#pending = '';
    const { columns } = this;
    const frame = this.compose(columns, this.#rows);
    const above = this.#unfinished === '' ? [] : breakPainted(this.#unfinished, columns);
    const all = [...above, ...frame.rows.map((row) => clipPainted(row, columns))];
    const left = Math.max(0, all.length - this.#rows);
    const rows = all.slice(left);
    const cursor = { row: Math.max(0, above.length + frame.cursor.row - left), column: Math.min(frame.cursor.column, columns) };
    const shown = `${rows.join(`${RESET}\n`)}${RESET}${upAndTo(rows.length - 1 - cursor.row, cursor.column)}`;
    if (end === 0 && shown === this.#last) return;
    this.output.write(`${this.#erase()}${printed.slice(0, end)}${shown}`);
    this.#drawn = { widths: rows.map(widthOf), ...cursor };
    this.#last = shown;
  }

  /** Moves to the area's first row and erases everything below. */
  #erase(): string {
    if (this.#drawn === null) return '';
    const { widths, row, column } = this.#drawn;
    const columns = this.output.columns || 80;
    const broken = (width: number) => Math.max(1, Math.ceil(width / columns)); // a narrower terminal has wrapped rows
    const above = widths.slice(0, row).reduce((sum, width) => sum + broken(width), 0) + Math.floor(column / columns);
    return `${above > 0 ? `\u001b[${above}A` : ''}\r\u001b[J`;
  }
}

const RESET = '\u001b[0m';

function upAndTo(rows: number, column: number): string {
  return `${rows > 0 ? `\u001b[${rows}A` : ''}\r${column > 0 ? `\u001b[${column}C` : ''}`;
}
