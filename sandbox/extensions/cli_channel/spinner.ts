import type { Clock } from 'pith';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 90;
/** What comes sooner needs no sign that it is awaited. */
const DELAY_MS = 150;

/** Turns on one line while something is awaited, and takes itself away. Only for terminals. */
export class Spinner {
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
