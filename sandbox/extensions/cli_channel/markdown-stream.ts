import pc from 'picocolors';
import { displayWidth, PrintableStream, wrapLines } from '@pith/plain-text';
import { CodeColours } from './code-colours.ts';
import { inlineSpans, type Look, type Span } from './inline-markdown.ts';

const WIDEST = 100;
const NARROWEST = 12;
/** What a line may still turn out to be: a fence, heading, list, rule, quote or table. */
const UNDECIDED = /^\s*(?:`{0,3}|~{0,3}|#{1,6}\s*|>|[-*+_][-*_\s]*|\d{1,9}[.)]?|(?:[-*+]|\d{1,9}[.)])\s+(?:\[(?:[ xX]\]?)?)?\s*)$/u;

type Kind = 'text' | 'heading' | 'code';

/** Renders Markdown for a terminal while it arrives: word by word, never repainting what was written. */
export class MarkdownStream {
  readonly #wrap: WordWrap;
  /** What is shown must not steer the terminal. */
  readonly #printable = new PrintableStream();
  #rest = '';
  #kind: Kind | null = null;
  /** Length of the marks at the beginning of the line that its lead replaces. */
  #skip = 0;
  /** The last character of this line that was taken. */
  #before = ' ';
  #fence: string | null = null;
  /** Of the block of code; null: it has one colour. */
  #colours: CodeColours | null = null;
  #table: string[] = [];
  #blank = true;

  constructor(
    private readonly write: (text: string) => void,
    private readonly options: { readonly colour: boolean; readonly columns: () => number },
  ) {
    const look = looks(options.colour);
    this.#wrap = new WordWrap(
      write,
      (span) => look(this.#kind === 'heading' ? { ...span, looks: ['bold', ...span.looks] } : span),
      () => Math.max(NARROWEST, Math.min(WIDEST, options.columns() - 1)),
    );
  }

  /** Nothing of a line is waiting or written: something else may be shown here. */
  get isBetweenParagraphs(): boolean {
    return this.#blank && this.#rest === '' && this.#kind === null && this.#fence === null && this.#table.length === 0;
  }

  feed(delta: string): void {
    this.#take(this.#printable.feed(delta));
  }

  #take(text: string): void {
    this.#rest += text.replaceAll('\t', '    ');
    for (let end = this.#rest.indexOf('\n'); end >= 0; end = this.#rest.indexOf('\n')) {
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + 1);
      this.#line(line);
    }
    this.#begun();
  }

  /** What waited comes out; the next feed begins a new text. */
  end(): void {
    this.#take(this.#printable.end());
    if (this.#rest !== '' || this.#kind !== null) this.#line(this.#rest);
    this.#rest = '';
    this.#flushTable();
    this.#fence = null;
    this.#blank = true;
  }

  /** A line that is complete, or what is left of one whose beginning has been written. */
  #line(line: string): void {
    if (this.#kind === null && !this.#open(line, true)) return;
    if (this.#kind === 'code') this.write(`${this.#code(this.#takeOpened(line))}\n`);
    else {
      this.#wrap.add(inlineSpans(this.#takeOpened(line), true, this.#before).spans);
      this.#wrap.end();
    }
    this.#kind = null;
    this.#before = ' ';
  }

  /** The beginning of a line, as far as it is certain. */
  #begun(): void {
    if (this.#rest === '') return;
    if (this.#kind === null && !this.#open(this.#rest, false)) return;
    const opened = this.#takeOpened(this.#rest);
    if (this.#kind === 'code') {
      this.write(this.#code(opened));
      this.#rest = '';
    } else {
      const { spans, used } = inlineSpans(opened, false, this.#before);
      this.#before = opened[used - 1] ?? this.#before;
      this.#wrap.add(spans);
      this.#rest = opened.slice(used);
    }
  }

  /** Without the marks that `#open` has turned into a lead. */
  #takeOpened(line: string): string {
    const text = line.slice(this.#skip);
    this.#skip = 0;
    return text;
  }

  /** Decides what the line is and writes its lead. False: nothing of it is to be written now. */
  #open(line: string, complete: boolean): boolean {
    if (this.#fence !== null) return this.#openCode(line, complete, this.#fence);
    if (/^\s*\|/u.test(line)) {
      if (complete) this.#table.push(line);
      return false;
    }
    if (!complete && (UNDECIDED.test(line) || /^\s*(?:`{3}|~{3})/u.test(line))) return false;
    this.#flushTable();
    const fence = /^\s*(`{3,}|~{3,})([^`]*)$/u.exec(line);
    if (fence) {
      this.#fence = fence[1] ?? '```';
      this.#colours = this.options.colour ? CodeColours.of(fence[2]?.trim() ?? '') : null;
      if (fence[2]?.trim()) this.write(`${this.#dim(`  ${fence[2].trim()}`)}\n`);
      this.#blank = false;
      return false;
    }
    if (line.trim() === '') {
      if (!this.#blank) this.write('\n');
      this.#blank = true;
      return false;
    }
    this.#blank = false;
    if (/^\s*([-*_])(?:\s*\1){2,}\s*$/u.test(line)) {
      this.write(`${this.#dim('─'.repeat(Math.max(3, Math.min(40, this.options.columns() - 1))))}\n`);
      return false;
    }
    this.#openText(line);
    return true;
  }

  #openText(line: string): void {
    const heading = /^\s{0,3}(#{1,6})\s+/u.exec(line);
    const list = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?/u.exec(line);
    const quote = /^\s{0,3}>\s?/u.exec(line);
    this.#kind = heading ? 'heading' : 'text';
    this.#skip = (heading ?? list ?? quote)?.[0].length ?? 0;
    if (list) {
      const [, indent = '', mark = '', task] = list;
      const bullet = task === undefined ? (/\d/u.test(mark) ? mark : '•') : task === ' ' ? '☐' : '☑';
      const lead = `${indent}${bullet} `;
      this.#wrap.begin(lead, displayWidth(lead), ' '.repeat(displayWidth(lead)));
    } else if (quote) this.#wrap.begin(this.#dim('│ '), 2, '  ');
    else {
      const indent = /^\s*/u.exec(line)?.[0] ?? '';
      if (!heading) this.#skip = indent.length;
      this.#wrap.begin(heading ? '' : indent, heading ? 0 : indent.length, heading ? '' : indent);
    }
  }

  #openCode(line: string, complete: boolean, fence: string): boolean {
    const bare = line.trim();
    const mayClose = fence.startsWith(bare.slice(0, fence.length)) && /^(`*|~*)$/u.test(bare);
    if (!complete && (mayClose || this.#colours !== null)) return false; // what a word is shows at the end of its line
    if (mayClose && bare.length >= fence.length) {
      this.#fence = null;
      return false;
    }
    this.#kind = 'code';
    this.write('  ');
    return true;
  }

  #flushTable(): void {
    if (this.#table.length === 0) return;
    const look = looks(this.options.colour);
    this.write(renderMarkdownTable(this.#table.splice(0), look, this.options.columns() - 1));
    this.#blank = false;
  }

  #code(text: string): string {
    if (this.#colours !== null) return this.#colours.paint(text);
    return this.options.colour && text !== '' ? pc.createColors(true).cyan(text) : text;
  }

  #dim(text: string): string {
    return pc.createColors(this.options.colour).dim(text);
  }
}

function looks(colour: boolean): (span: Span) => string {
  const paint = pc.createColors(colour);
  const by: Readonly<Record<Look, (text: string) => string>> = {
    bold: paint.bold,
    italic: paint.italic,
    code: paint.cyan,
    strike: paint.strikethrough,
    dim: paint.dim,
    link: paint.underline,
  };
  return ({ text, looks: all }) => all.reduce((painted, look) => by[look](painted), text);
}

/** A whole text of Markdown as a terminal shows it, without an end of line. */
export function renderMarkdown(text: string, { colour, columns }: { readonly colour: boolean; readonly columns: number }): string {
  let rendered = '';
  const stream = new MarkdownStream((part) => (rendered += part), { colour, columns: () => columns });
  stream.feed(text);
  stream.end();
  return rendered.trimEnd();
}

/** A table of pipes, aligned; each line ends with a line feed. Lines that make no table come out as they are. */
function renderMarkdownTable(lines: readonly string[], paint: (span: Span) => string, columns: number): string {
  const rows = lines.map(cellsOf);
  const rule = rows[1];
  if (rule === undefined || !rule.every((cell) => /^:?-+:?$/u.test(cell))) return lines.map((line) => `${line}\n`).join('');
  const shown = rows.filter((_, index) => index !== 1).map((row) => row.map((cell) => inlineSpans(cell, true).spans));
  const count = Math.max(...shown.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) => Math.max(3, ...shown.map((row) => widthOf(row[column] ?? []))));
  if (widths.reduce((sum, width) => sum + width + 2, -2) > columns) return renderRecords(shown, paint, columns);
  const out = shown.map((row, index) =>
    widths
      .map((width, column) => {
        const spans = row[column] ?? [];
        const text = spans.map((span) => paint(index === 0 ? { ...span, looks: ['bold', ...span.looks] } : span)).join('');
        return aligned(text, width - widthOf(spans), rule[column]);
      })
      .join('  ')
      .trimEnd(),
  );
  out.splice(1, 0, widths.map((width) => '─'.repeat(width)).join('  '));
  return out.map((line) => `${line}\n`).join('');
}

/** A table that is wider than its terminal: each cell in a line with its heading, rows one below the other. */
function renderRecords(
  [head = [], ...rows]: readonly (readonly (readonly Span[])[])[],
  paint: (span: Span) => string,
  columns: number,
): string {
  const painted = (spans: readonly Span[]) => spans.map(paint).join('');
  const records = rows.map((row) =>
    row
      .map((cell, at) => `${painted((head[at] ?? []).map((span) => ({ ...span, looks: ['bold', ...span.looks] })))}: ${painted(cell)}`)
      .map((line) => `${wrapLines(line, columns)}\n`)
      .join(''),
  );
  return records.join('\n');
}

function cellsOf(line: string): readonly string[] {
  const inner = line
    .trim()
    .replace(/^\|/u, '')
    .replace(/(?<!\\)\|$/u, '');
  return inner.split(/(?<!\\)\|/u).map((cell) => cell.replaceAll('\\|', '|').trim());
}

function aligned(text: string, space: number, rule = ''): string {
  if (!rule.endsWith(':')) return text + ' '.repeat(space);
  const left = rule.startsWith(':') ? Math.floor(space / 2) : space;
  return ' '.repeat(left) + text + ' '.repeat(space - left);
}

function widthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, span) => sum + displayWidth(span.text), 0);
}

/** Turns a span's text into what the terminal is sent. */
type Paint = (span: Span) => string;

/**
 * Writes spans, breaking lines between words at `width`. A word waits until the space after it has come;
 * nothing that was written is touched again.
 */
class WordWrap {
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
