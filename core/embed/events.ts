import type { TurnEvent } from '../contract/index.ts';

/** The events of a run, for whoever reads them, now or later. Leaving a loop over them calls `left`. */
export class RunEvents implements AsyncIterable<TurnEvent> {
  readonly #events: TurnEvent[] = [];
  #isEnded = false;
  #wake: (() => void)[] = [];

  constructor(private readonly left: () => void) {}

  push(event: TurnEvent): void {
    this.#events.push(event);
    this.#notify();
  }

  end(): void {
    this.#isEnded = true;
    this.#notify();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<TurnEvent> {
    let at = 0;
    try {
      for (;;) {
        while (at < this.#events.length) yield this.#events[at++]!;
        if (this.#isEnded) return;
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
    } finally {
      if (!this.#isEnded) this.left();
    }
  }

  /** The text alone. */
  async *text(): AsyncIterable<string> {
    for await (const event of this) if (event.type === 'text-delta') yield event.text;
  }

  #notify(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
