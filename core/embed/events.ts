import type { TurnEvent } from '../contract/index.ts';

/** The events of a run, for whoever reads them, now or later. Leaving a loop over them calls `left`, also while the loop waits. */
export class RunEvents {
  readonly #events: TurnEvent[] = [];
  #end: { readonly failure: unknown } | null = null;
  #waiting: (() => void)[] = [];

  constructor(private readonly left: () => void) {}

  push(event: TurnEvent): void {
    if (this.#end !== null) return; // a turn that hung goes on when its run is over
    this.#events.push(event);
    this.#notify();
  }

  /** `failure`: what every loop ends with; null: the run did not fail. */
  end(failure: unknown): void {
    this.#end = { failure };
    this.#notify();
  }

  /** What `of` makes of each event; events without a value are left out. */
  read<T>(of: (event: TurnEvent) => T | undefined): AsyncIterableIterator<T, undefined> {
    let at = 0;
    let isOver = false;
    const over = { done: true, value: undefined } as const;
    const reader: AsyncIterableIterator<T, undefined> = {
      [Symbol.asyncIterator]: () => reader,
      next: async () => {
        while (!isOver) {
          const event = this.#events[at];
          if (event !== undefined) {
            at += 1;
            const value = of(event);
            if (value !== undefined) return { done: false, value };
          } else if (this.#end !== null) {
            isOver = true;
            if (this.#end.failure !== null) throw this.#end.failure;
          } else await new Promise<void>((wake) => this.#waiting.push(wake));
        }
        return over;
      },
      return: async () => {
        if (!isOver && this.#end === null) this.left();
        isOver = true;
        this.#notify();
        return over;
      },
    };
    return reader;
  }

  #notify(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
