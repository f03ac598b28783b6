import type { Clock } from 'pith';

const MOST_KEYS = 10_000;

interface Bucket {
  /** How many more are allowed at `at`. */
  readonly left: number;
  readonly at: number;
}

/** So many a minute for each key, at once or spread out. */
export class MinuteLimit {
  readonly #buckets = new Map<string, Bucket>();

  constructor(
    private readonly most: number,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Seconds until one more is allowed; null: now. */
  wait(key: string): number | null {
    const left = this.#left(key);
    return left >= 1 ? null : Math.max(1, Math.ceil(((1 - left) * 60) / this.most));
  }

  /** Counts one, allowed or not. */
  count(key: string): void {
    const left = Math.max(0, this.#left(key) - 1);
    this.#buckets.delete(key);
    this.#buckets.set(key, { left, at: this.clock.now() });
    // The oldest go first: whoever comes under many keys gains no more than by coming under new ones.
    for (const oldest of this.#buckets.keys()) {
      if (this.#buckets.size <= MOST_KEYS) break;
      this.#buckets.delete(oldest);
    }
  }

  #left(key: string): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return this.most;
    const passed = Math.max(0, this.clock.now() - bucket.at);
    return Math.min(this.most, bucket.left + (passed * this.most) / 60_000);
  }
}
