import type { Clock } from 'pith';
import { printable } from '@pith/plain-text';
import { clipPainted } from '@pith/line-editor';
import type { Surface } from './surface.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 90;
/** What comes sooner needs no sign that it is awaited. */
const DELAY_MS = 150;
/** Lines of output that are shown while a command runs. */
const MOST_LIVE = 10;
/** Lines that are printed where nothing is drawn again. */
const MOST_PRINTED = 200;

/** What is awaited, and what it shows meanwhile. Takes itself away. */
export class LiveStatus {
  #cancel: (() => void) | null = null;
  #label: string | null = null;
  #frame = 0;
  #lines: string[] = [''];
  #printed = 0;
  #left = 0;

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

  /** What a tool shows while it runs. */
  output(text: string): void {
    const [first = '', ...rest] = printable(text).split('\n');
    this.#lines[this.#lines.length - 1] += first;
    this.#lines.push(...rest);
    if (this.surface.liveRows < 2) return this.#print();
    this.#lines = this.#lines.slice(-MOST_LIVE - 1);
    if (this.#label !== null) this.#draw();
  }

  /** The tool has ended. */
  outputEnded(): void {
    if (this.surface.liveRows < 2) {
      if (this.#lines[0] !== '') this.#printLine(this.#lines[0] ?? '');
      if (this.#left > 0) this.surface.write(this.options.dim(`  … ${this.#left} more lines\n`));
    }
    this.#lines = [''];
    this.#printed = 0;
    this.#left = 0;
  }

  #print(): void {
    for (const line of this.#lines.splice(0, this.#lines.length - 1)) this.#printLine(line);
  }

  #printLine(line: string): void {
    this.#printed += 1;
    if (this.#printed > MOST_PRINTED) this.#left += 1;
    else this.surface.write(this.options.dim(`  ${line}\n`));
  }

  #turn(): void {
    this.#frame += 1;
    this.#draw();
    this.#cancel = this.clock.after(FRAME_MS, () => this.#turn());
  }

  #draw(): void {
    const { dim, columns } = this.options;
    const shown = this.#lines.filter((line, at) => at < this.#lines.length - 1 || line !== '').slice(-MOST_LIVE);
    const rows = [`${FRAMES[this.#frame % FRAMES.length]} ${this.#label}`, ...shown.map((line) => `  ${line.replaceAll('\t', '  ')}`)];
    this.surface.live(rows.map((row) => dim(clipPainted(row, columns() - 1))));
  }
}
