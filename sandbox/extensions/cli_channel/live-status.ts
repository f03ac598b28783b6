import type { Clock } from 'pith';
import { printable } from '@pith/plain-text';
import { clipPainted } from '@pith/line-editor';
import type { Surface } from './terminal.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 90;
/** What comes sooner needs no sign that it is awaited. */
const DELAY_MS = 150;
/** Lines of output that are shown while a command runs. */
const MOST_LIVE = 10;
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
export class LiveStatus {
  #cancel: (() => void) | null = null;
  #label: string | null = null;
  #frame = 0;
  /** Of each call that shows something; the one that did so last is the last. */
  readonly #outputs = new Map<string, CallOutput>();

  constructor(
    private readonly surface: Surface,
    private readonly clock: Clock,
    private readonly options: { readonly dim: (text: string) => string; readonly columns: () => number },
  ) {}

  start(label: string): void {
    this.stop();
    if (this.surface.liveRows === 0) return;
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
    if (this.surface.liveRows < 2) return this.#print(output, output.lines.splice(0, output.lines.length - 1));
    output.lines = output.lines.slice(-MOST_LIVE - 1);
    if (this.#label !== null) this.#draw();
  }

  /** The call has ended. */
  outputEnded(call: string): void {
    const output = this.#outputs.get(call);
    this.#outputs.delete(call);
    if (output === undefined || this.surface.liveRows >= 2) return;
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
    const { dim, columns } = this.options;
    const lines = [...this.#outputs.values()].at(-1)?.lines ?? [];
    const shown = lines.filter((line, at) => at < lines.length - 1 || line !== '').slice(-MOST_LIVE);
    const rows = [`${FRAMES[this.#frame % FRAMES.length]} ${this.#label}`, ...shown.map((line) => `  ${line.replaceAll('\t', '  ')}`)];
    this.surface.live(rows.map((row) => dim(clipPainted(row, columns() - 1))));
  }
}
