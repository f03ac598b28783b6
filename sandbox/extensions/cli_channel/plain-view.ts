import { printable, type Clock, type CommandIO, type TurnEvent } from 'pith';
import { endingLine, questionLine, stepLine, type StepTimes } from './step-line.ts';

/** Answers as the model wrote them, line by line on the output; steps and notices on the error stream. */
export class PlainView {
  readonly #times: StepTimes = new Map();
  readonly #told = new Set<string>();
  #line = '';

  constructor(
    private readonly io: CommandIO,
    private readonly clock: Clock,
  ) {}

  show(event: TurnEvent): void {
    const { io, clock } = this;
    if (event.type === 'text-delta') return this.#text(event.text);
    this.#flush();
    if (event.type === 'tool-call') this.#times.set(event.id, { at: clock.now(), input: event.input });
    if (event.type === 'tool-result' && !io.quiet) {
      const { text, time } = stepLine(event, this.#times, clock.now());
      io.error(`${event.ok ? '✓' : '✗'} ${text} ${time}`.trimEnd());
    }
    if (event.type === 'document' && !io.quiet) io.error(`✓ ${event.line}`);
    if (event.type === 'notice' && !io.quiet && !this.#told.has(event.message)) {
      this.#told.add(event.message);
      io.error(event.message);
    }
    if (event.type === 'approval-request') io.error(questionLine(event));
    if (event.type === 'turn-end') {
      const ending = endingLine(event);
      if (ending !== null) io.error(ending);
    }
  }

  #text(delta: string): void {
    const text = this.#line + delta;
    const end = text.lastIndexOf('\n');
    if (end >= 0) this.io.print(printable(text.slice(0, end + 1)));
    this.#line = text.slice(end + 1);
  }

  #flush(): void {
    if (this.#line !== '') this.io.print(printable(this.#line));
    this.#line = '';
  }
}
