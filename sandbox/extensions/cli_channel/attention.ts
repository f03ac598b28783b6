import type { Clock } from 'pith';
import { printableLine } from '@pith/plain-text';

/** How a person is called: OSC 9 or OSC 777, each with the bell, for terminals that show notifications; the bell alone; not at all. */
export type Notifications = 'osc9' | 'osc777' | 'bell' | 'off';

/** A terminal that does not tell its focus: who waits so long may look elsewhere. */
const LONG_MS = 10_000;
const BELL = '\u0007';

/** Calls a person back to a terminal that they do not look at. */
export class Attention {
  /** null: the terminal does not tell. */
  #isFocused: boolean | null = null;
  #last: number;

  constructor(
    private readonly output: { write(text: string): unknown },
    private readonly how: Notifications,
    private readonly clock: Pick<Clock, 'now'>,
  ) {
    this.#last = clock.now();
  }

  focused(isFocused: boolean): void {
    this.#isFocused = isFocused;
  }

  /** The person has just typed something that is being worked on. */
  seen(): void {
    this.#last = this.clock.now();
  }

  call(what: string): void {
    const isAway = this.#isFocused === null ? this.clock.now() - this.#last > LONG_MS : !this.#isFocused;
    if (!isAway || this.how === 'off') return;
    const text = printableLine(`Pith: ${what}`, 100).replaceAll(';', ',');
    const shown = this.how === 'osc9' ? `\u001b]9;${text}${BELL}` : this.how === 'osc777' ? `\u001b]777;notify;Pith;${text}${BELL}` : '';
    this.output.write(shown + BELL);
  }
}
