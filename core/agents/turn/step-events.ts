import type { TurnEvent } from '../../contract/index.ts';

/** What the calls of a step say while they run side by side, and the turns that they called. */
export class StepEvents {
  #waiting: TurnEvent[] = [];
  #wake = (): void => undefined;

  push(event: TurnEvent): void {
    this.#waiting.push(event);
    this.#wake();
  }

  /** What is said until `work` has settled. */
  async *until(work: Promise<unknown>): AsyncGenerator<TurnEvent, void, undefined> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
      this.#wake();
    };
    work.then(settle, settle);
    for (;;) {
      for (const event of this.#waiting.splice(0)) yield event;
      if (this.#waiting.length > 0) continue;
      if (isSettled) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
