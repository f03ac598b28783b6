import type { Readable } from 'node:stream';
import type { Clock } from 'pith';
import { MOST_BYTES } from './bounded-transport.ts';

/** Of the output, of whatever kind: who writes more in a second waits for the next, and who does so in so many in a row is ended. */
const MOST_LINES = 2000;
const MOST_SECONDS = 5;

/** Reads a server's output line by line, and no faster than it may be. `stop` is called with the reason when there is to be an end of it. */
export class PacedLines {
  readonly #pace: Pace;
  #held: Buffer[] = [];
  #size = 0;
  /** What waits for the next second. */
  #waiting: Buffer | null = null;
  #isOver = false;

  constructor(
    private readonly stream: Readable,
    clock: Pick<Clock, 'after'>,
    private readonly reader: { take(line: string): void; stop(why: string): void },
  ) {
    this.#pace = new Pace(clock, MOST_LINES, (seconds) => this.#next(seconds));
    stream.on('error', () => undefined).on('data', (bytes: Buffer) => this.#read(bytes));
  }

  /** No line is taken any more; what is still printed is thrown away, so that the server can end. */
  end(): void {
    this.#isOver = true;
    this.#held = [];
    this.#waiting = null;
    this.stream.resume();
  }

  #read(bytes: Buffer): void {
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0 && !this.#isOver; end = bytes.indexOf(10, from)) {
      if (!this.#pace.allows(1)) {
        this.#waiting = bytes.subarray(from);
        this.stream.pause();
        return;
      }
      this.#hold(bytes.subarray(from, end));
      const line = Buffer.concat(this.#held).toString('utf8').trim();
      this.#held = [];
      this.#size = 0;
      from = end + 1;
      if (line !== '' && !this.#isOver) this.reader.take(line);
    }
    this.#hold(bytes.subarray(from));
  }

  #hold(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#size += bytes.length;
    if (this.#size <= MOST_BYTES) this.#held.push(bytes);
    else this.reader.stop(`it sent a message longer than ${MOST_BYTES} bytes`);
  }

  #next(secondsOver: number): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    if (secondsOver >= MOST_SECONDS) return this.reader.stop(`it prints more than ${MOST_LINES} lines a second to its output`);
    this.#waiting = null;
    this.#read(waiting);
    if (this.#waiting === null) this.stream.resume();
  }
}

/** How much comes in a second. */
export class Pace {
  #amount = 0;
  #secondsOver = 0;

  /** `next` is called when a second is over, with how many in a row had more than `most`. */
  constructor(
    private readonly clock: Pick<Clock, 'after'>,
    private readonly most: number,
    private readonly next: (secondsOver: number) => void,
  ) {}

  /** False: it is too much for this second. */
  allows(amount: number): boolean {
    if (this.#amount === 0) this.clock.after(1000, () => this.#end());
    this.#amount += amount;
    return this.#amount <= this.most;
  }

  #end(): void {
    this.#secondsOver = this.#amount > this.most ? this.#secondsOver + 1 : 0;
    this.#amount = 0;
    this.next(this.#secondsOver);
  }
}
