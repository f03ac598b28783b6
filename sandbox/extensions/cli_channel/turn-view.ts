import pc from 'picocolors';
import type { Clock, Diagnostic, TurnEvent } from 'pith';
import { printable, printableLine, wrapLines } from '@pith/plain-text';
import { LiveStatus } from './live-status.ts';
import { MarkdownStream } from './markdown-stream.ts';
import { callLine, endingLine, questionLine, markOf, stepLine, type StepTimes } from './step-line.ts';
import { directSurface, type Surface, widthOf, type Terminal } from './terminal.ts';

export interface ViewOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly colour: boolean;
  /** Answers and errors only. */
  readonly quiet: boolean;
  /** Questions are asked where the turn is shown. */
  readonly asks?: boolean;
  /** What is shown besides the answer, with commands as they are typed here. */
  readonly hint?: (text: string) => string;
  /** Default: the terminal itself. */
  readonly surface?: Surface;
  /** Called where a paragraph or a step has ended: other things may be shown here. */
  readonly paused?: () => void;
}

/** Shows turns on a terminal. Notices are shown once in its life. */
export class TurnView {
  readonly #markdown: MarkdownStream;
  readonly #surface: Surface;
  readonly #status: LiveStatus;
  readonly #colour: ReturnType<typeof pc.createColors>;
  readonly #shownNotices = new Set<string>();
  readonly #times: StepTimes = new Map();

  constructor(private readonly options: ViewOptions) {
    const { terminal, clock, colour } = options;
    const columns = () => widthOf(terminal);
    this.#colour = pc.createColors(colour);
    this.#surface = options.surface ?? directSurface(terminal);
    this.#markdown = new MarkdownStream((text) => this.#surface.write(text), { colour, columns });
    this.#status = new LiveStatus(this.#surface, clock, { dim: this.#colour.dim, columns });
  }

  /** It has been shown elsewhere: no notice shows it again. */
  know({ code, message, cure }: Diagnostic): void {
    this.#shownNotices.add(code + (cure ? `${message}; ${cure}` : message));
  }

  show(event: TurnEvent): void {
    const { clock, quiet } = this.options;
    switch (event.type) {
      case 'turn-start':
        this.#status.start('thinking');
        return;
      case 'text-delta':
        this.#status.stop();
        this.#text(event.text);
        return;
      case 'tool-call':
        this.#times.set(event.id, { at: clock.now(), input: event.input });
        this.#markdown.end();
        this.#status.start(callLine(event));
        return;
      case 'tool-output':
        if (!quiet) this.#status.output(event.id, event.text);
        return;
      case 'tool-result': {
        this.#status.outputEnded(event.id);
        const line = stepLine(event, this.#times, clock.now());
        const { green, yellow, red, dim } = this.#colour;
        const mark = markOf(event);
        const painted = { '✓': green, '!': yellow, '✗': red }[mark](mark);
        if (!quiet) this.#line(`${painted} ${printableLine(line.text)} ${dim(line.time)}`.trimEnd());
        this.#next();
        return;
      }
      case 'document':
        if (!quiet) this.#line(`${this.#colour.green('✓')} ${printableLine(event.line)}`);
        this.#next();
        return;
      case 'notice':
        if (!quiet && !this.#shownNotices.has(event.code + event.message))
          this.#line(this.#colour.dim(printable(this.#hint(event.message))));
        this.#shownNotices.add(event.code + event.message);
        return;
      case 'approval-request':
        if (!this.options.asks) this.#line(this.#colour.yellow(printable(questionLine(event))));
        return;
      case 'step-end':
        this.#markdown.end();
        this.#next();
        return;
      case 'turn-end': {
        this.#markdown.end();
        this.#status.stop();
        const words = event.reason === 'awaiting_approval' && this.options.asks ? null : endingLine(event);
        const ending = words === null ? null : this.#hint(words);
        if (ending !== null)
          this.#line(event.reason === 'error' ? this.#colour.red(printable(ending)) : this.#colour.yellow(printable(ending)));
      }
    }
  }

  /** Pauses between paragraphs, also within a delta. */
  #text(delta: string): void {
    const end = delta.lastIndexOf('\n\n') + 2;
    for (const part of end > 2 ? [delta.slice(0, end), delta.slice(end)] : [delta]) {
      this.#markdown.feed(part);
      if (this.#markdown.isBetweenParagraphs) this.options.paused?.();
    }
  }

  #next(): void {
    this.options.paused?.();
    this.#status.start('thinking');
  }

  /** A separate line, whatever is under way. */
  #line(text: string): void {
    this.#markdown.end();
    this.#status.stop();
    this.#surface.write(`${wrapLines(text, widthOf(this.options.terminal))}\n`);
  }

  #hint(text: string): string {
    return this.options.hint?.(text) ?? text;
  }
}
