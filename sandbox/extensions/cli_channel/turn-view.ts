import pc from 'picocolors';
import type { Clock, Diagnostic, TurnEvent } from 'pith';
import { printable, printableLine, wrapLines } from '@pith/plain-text';
import { MarkdownStream } from './markdown-stream.ts';
import { endingLine, questionLine, stepLine, type StepTimes } from './step-line.ts';
import { widthOf, type Terminal } from './terminal.ts';

export interface ViewOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly colour: boolean;
  /** Answers and errors only. */
  readonly quiet: boolean;
  /** Questions are asked where the turn is shown. */
  readonly asks?: boolean;
  /** What is told besides the answer, in the words of this place. */
  readonly hint?: (text: string) => string;
}

/** Shows turns on a terminal. Notices are shown once in its life. */
export class TurnView {
  readonly #markdown: MarkdownStream;
  readonly #spinner: Spinner;
  readonly #colour: ReturnType<typeof pc.createColors>;
  readonly #said = new Set<string>();
  readonly #times: StepTimes = new Map();

  constructor(private readonly options: ViewOptions) {
    const { terminal, clock, colour } = options;
    this.#colour = pc.createColors(colour);
    this.#markdown = new MarkdownStream((text) => this.#write(text), { colour, columns: () => widthOf(terminal) });
    this.#spinner = new Spinner((text) => terminal.output.write(text), clock, this.#colour.dim);
  }

  /** It has been shown elsewhere: no notice shows it again. */
  know({ code, message, cure }: Diagnostic): void {
    this.#said.add(code + (cure ? `${message}; ${cure}` : message));
  }

  show(event: TurnEvent): void {
    const { clock, quiet } = this.options;
    switch (event.type) {
      case 'turn-start':
        this.#spinner.start('thinking');
        return;
      case 'text-delta':
        this.#spinner.stop();
        this.#markdown.feed(event.text);
        return;
      case 'tool-call':
        this.#times.set(event.id, { at: clock.now(), input: event.input });
        this.#break();
        this.#spinner.start(printableLine(event.name));
        return;
      case 'tool-result': {
        const line = stepLine(event, this.#times, clock.now());
        if (!quiet)
          this.#line(
            `${event.ok ? this.#colour.green('✓') : this.#colour.red('✗')} ${printableLine(line.text)} ${this.#colour.dim(line.time)}`,
          );
        this.#spinner.start('thinking');
        return;
      }
      case 'document':
        if (!quiet) this.#line(`${this.#colour.green('✓')} ${printableLine(event.line)}`);
        this.#spinner.start('thinking');
        return;
      case 'notice':
        if (!quiet && !this.#said.has(event.code + event.message)) this.#line(this.#colour.dim(printable(this.#hint(event.message))));
        this.#said.add(event.code + event.message);
        return;
      case 'approval-request':
        if (!this.options.asks) this.#line(this.#colour.yellow(printable(questionLine(event))));
        return;
      case 'step-end':
        this.#break();
        this.#spinner.start('thinking');
        return;
      case 'turn-end': {
        this.#break();
        this.#spinner.stop();
        const told = event.reason === 'awaiting_approval' && this.options.asks ? null : endingLine(event);
        const ending = told === null ? null : this.#hint(told);
        if (ending !== null)
          this.#line(event.reason === 'error' ? this.#colour.red(printable(ending)) : this.#colour.yellow(printable(ending)));
      }
    }
  }

  /** A line of its own, whatever is under way. */
  #line(text: string): void {
    this.#break();
    this.#spinner.stop();
    this.#write(`${wrapLines(text, widthOf(this.options.terminal))}\n`);
  }

  #hint(text: string): string {
    return this.options.hint?.(text) ?? text;
  }

  #break(): void {
    this.#markdown.end();
  }

  #write(text: string): void {
    this.#spinner.stop();
    this.options.terminal.output.write(text);
  }
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 90;
/** What comes sooner needs no sign that it is awaited. */
const DELAY_MS = 150;

/** Turns on one line while something is awaited, and takes itself away. Only for terminals. */
class Spinner {
  #cancel: (() => void) | null = null;
  #frame = 0;
  #shown = false;

  constructor(
    private readonly write: (text: string) => void,
    private readonly clock: Clock,
    private readonly paint: (text: string) => string,
  ) {}

  start(label: string): void {
    this.stop();
    const draw = () => {
      this.write(`\r\u001b[2K${this.paint(`${FRAMES[this.#frame % FRAMES.length]} ${label}`)}`);
      this.#shown = true;
      this.#frame += 1;
      this.#cancel = this.clock.after(FRAME_MS, draw);
    };
    this.#cancel = this.clock.after(DELAY_MS, draw);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#shown) this.write('\r\u001b[2K');
    this.#shown = false;
  }
}
