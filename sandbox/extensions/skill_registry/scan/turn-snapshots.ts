import type { Snapshot } from '../skill.ts';

/** More turns than this do not run at once; the oldest is one whose end was never heard of. */
const LIMIT = 4096;

/** Gives every turn the snapshot that it began with, until it ends. */
export class TurnSnapshots {
  readonly #turns = new Map<string, Promise<Snapshot>>();
  readonly #newest: () => Promise<Snapshot>;

  constructor(newest: () => Promise<Snapshot>) {
    this.#newest = newest;
  }

  /** Called where a turn's prompt is made. A preview, which never ends, begins anew each time. */
  begin(turnId: string): Promise<Snapshot> {
    const snapshot = this.#newest();
    this.#turns.delete(turnId);
    this.#turns.set(turnId, snapshot);
    for (const oldest of this.#turns.keys()) {
      if (this.#turns.size <= LIMIT) break;
      this.#turns.delete(oldest);
    }
    snapshot.catch(() => this.release(turnId)); // the caller gets the rejection; the next call tries again
    return snapshot;
  }

  /** The snapshot of a turn that has begun; the newest for calls outside of one. */
  of(turnId: string): Promise<Snapshot> {
    return this.#turns.get(turnId) ?? this.#newest();
  }

  release(turnId: string): void {
    this.#turns.delete(turnId);
  }
}
