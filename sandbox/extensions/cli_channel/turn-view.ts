import pc from 'picocolors';
import type { Clock, Diagnostic, TurnEvent } from 'pith';
import { printable, printableLine, wrapLines, withCure } from '@pith/plain-text';
import { Checklist } from './checklist.ts';
import { MarkdownStream } from './markdown-stream.ts';
import { callLine, endingLine, isNotified, questionLine, markOf, stepLine, type StepTimes } from './step-line.ts';
import { directSurface, type Surface, widthOf, type Terminal } from './terminal.ts';
import { clipPainted } from '@pith/line-editor';

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
  readonly #checklist = new Checklist();

  constructor(private readonly options: ViewOptions) {
    const { terminal, clock, colour } = options;
    const columns = () => widthOf(terminal);
    this.#colour = pc.createColors(colour);
    this.#surface = options.surface ?? directSurface(terminal);
    this.#markdown = new MarkdownStream((text) => this.#surface.write(text), { colour, columns });
    this.#status = new LiveStatus(this.#surface, clock, { dim: this.#colour.dim, columns, below: () => this.#checklist.rows() });
  }

  /** It has been shown elsewhere: no notice shows it again. */
  know({ code, message, cure }: Diagnostic): void {
    this.#shownNotices.add(code + withCure(message, cure));
  }

  show(event: TurnEvent): void {
    const { clock, quiet } = this.options;
    this.#checklist.observe(event);
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
        if (!quiet) this.#line(`${this.#colour.green('✓')} ${printableLine(event.label)}`);
        this.#next();
        return;
      case 'notice':
        if (isNotified(event, quiet) && !this.#shownNotices.has(event.code + event.message))
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

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 90;
/** What comes sooner needs no sign that it is awaited. */
const DELAY_MS = 150;
/** Lines of output that are shown while a command runs. */
const MOST_LIVE = 10;
/** The same beside a list. */
const LEAST_LIVE = 3;
/** Lines that are printed where nothing is drawn again. */
const MOST_PRINTED = 200;

/** What one call has shown so far. */
interface CallOutput {
  /** The last is not complete. */
  lines: string[];
  printed: number;
  /** Lines that were not printed: there were too many. */
  left: number;
}

/** What is awaited, and what it shows meanwhile. Takes itself away. */
class LiveStatus {
  #cancel: (() => void) | null = null;
  #label: string | null = null;
  #frame = 0;
  /** Of each call that shows something; the one that did so last is the last. */
  readonly #outputs = new Map<string, CallOutput>();

  constructor(
    private readonly surface: Surface,
    private readonly clock: Clock,
    private readonly options: {
      readonly dim: (text: string) => string;
      readonly columns: () => number;
      /** Rows that stay below while something is awaited. */
      readonly below: () => readonly string[];
    },
  ) {}

  start(label: string): void {
    this.stop();
    if (this.surface.liveRows === 'none') return;
    this.#label = label;
    this.#cancel = this.clock.after(DELAY_MS, () => this.#turn());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#label !== null) this.surface.live([]);
    this.#label = null;
  }

  /** What a call shows while it runs. */
  output(call: string, text: string): void {
    const output = this.#outputs.get(call) ?? { lines: [''], printed: 0, left: 0 };
    this.#outputs.delete(call);
    this.#outputs.set(call, output);
    const [first = '', ...rest] = printable(text).split('\n');
    output.lines[output.lines.length - 1] += first;
    output.lines.push(...rest);
    if (this.surface.liveRows !== 'all') return this.#print(output, output.lines.splice(0, output.lines.length - 1));
    output.lines = output.lines.slice(-MOST_LIVE - 1);
    if (this.#label !== null) this.#draw();
  }

  /** The call has ended. */
  outputEnded(call: string): void {
    const output = this.#outputs.get(call);
    this.#outputs.delete(call);
    if (output === undefined || this.surface.liveRows === 'all') return;
    this.#print(
      output,
      output.lines.filter((line) => line !== ''),
    );
    if (output.left > 0) this.surface.write(this.options.dim(`  … ${output.left} more lines\n`));
  }

  #print(output: CallOutput, lines: readonly string[]): void {
    for (const line of lines) {
      output.printed += 1;
      if (output.printed > MOST_PRINTED) output.left += 1;
      else this.surface.write(this.options.dim(`  ${line}\n`));
    }
  }

  #turn(): void {
    this.#frame += 1;
    this.#draw();
    this.#cancel = this.clock.after(FRAME_MS, () => this.#turn());
  }

  #draw(): void {
    const { dim, columns, below } = this.options;
    const kept = this.surface.liveRows === 'all' ? below() : [];
    const most = kept.length === 0 ? MOST_LIVE : LEAST_LIVE;
    const lines = [...this.#outputs.values()].at(-1)?.lines ?? [];
    const shown = lines.filter((line, at) => at < lines.length - 1 || line !== '').slice(-most);
    const rows = [
      `${FRAMES[this.#frame % FRAMES.length]} ${this.#label}`,
      ...shown.map((line) => `  ${line.replaceAll('\t', '  ')}`),
      ...kept,
    ];
    this.surface.live(rows.map((row) => dim(clipPainted(row, columns() - 1))));
  }
}
