import type { Clock } from 'pith';

/** Bytes of a stream, and what its reader compares: the place of a change. */
export interface Frame {
  readonly bytes: Uint8Array;
  readonly place?: number;
}

/** The frames that wait for one reader, at most `mostBytes` of them: a reader that is too slow finds it `over` and nothing else. */
export class Outbox {
  #waiting: Frame[] = [];
  #bytes = 0;
  #state: 'open' | 'ended' | 'over' = 'open';
  #wake: (() => void) | null = null;

  constructor(private readonly mostBytes: number) {}

  add(frame: Frame): void {
    if (this.#state !== 'open') return;
    this.#bytes += frame.bytes.byteLength;
    if (this.#bytes <= this.mostBytes) this.#waiting.push(frame);
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

  /** All that waits, once there is something; `idle` after `ms`, `ended` at the end or once `signal` aborts. For one reader. */
  async next(clock: Pick<Clock, 'after'>, ms: number, signal: AbortSignal): Promise<readonly Frame[] | 'idle' | 'ended' | 'over'> {
    let isLate = false;
    for (;;) {
      if (signal.aborted) return 'ended';
      if (this.#state === 'over') return 'over';
      if (this.#waiting.length > 0) return this.#taken();
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

  #taken(): readonly Frame[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#bytes = 0;
    return taken;
  }
}
