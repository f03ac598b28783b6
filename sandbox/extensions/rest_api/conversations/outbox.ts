import type { Clock } from 'pith';

/** What waits for one reader, bounded: a reader that is too slow finds it `over` and nothing else. */
export class Outbox<T> {
  #waiting: T[] = [];
  #state: 'open' | 'ended' | 'over' = 'open';
  #wake: (() => void) | null = null;

  constructor(private readonly most: number) {}

  add(item: T): void {
    if (this.#state !== 'open') return;
    if (this.#waiting.length < this.most) this.#waiting.push(item);
    else {
      this.#state = 'over';
      this.#waiting = [];
    }
    this.#wake?.();
  }

  /** What waits is still read. */
  end(): void {
    if (this.#state === 'open') this.#state = 'ended';
    this.#wake?.();
  }

  /** The next, once there is one; `idle` after `ms`, `ended` at the end or once `signal` aborts. For one reader. */
  async next(clock: Pick<Clock, 'after'>, ms: number, signal: AbortSignal): Promise<{ readonly item: T } | 'idle' | 'ended' | 'over'> {
    let isLate = false;
    for (;;) {
      if (signal.aborted) return 'ended';
      if (this.#state === 'over') return 'over';
      if (this.#waiting.length > 0) return { item: this.#waiting.shift() as T };
      if (this.#state === 'ended') return 'ended';
      if (isLate) return 'idle';
      await new Promise<void>((resolve) => {
        const cancel = clock.after(ms, () => ((isLate = true), woken()));
        const woken = (): void => {
          cancel();
          signal.removeEventListener('abort', woken);
          this.#wake = null;
          resolve();
        };
        this.#wake = woken;
        signal.addEventListener('abort', woken, { once: true });
      });
    }
  }
}
