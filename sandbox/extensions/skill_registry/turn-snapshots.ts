import type { Snapshot } from './skill.ts';

/** Gives every turn the snapshot that it began with, until it ends. */
export class TurnSnapshots {
  readonly #turns = new Map<string, Promise<Snapshot>>();
  readonly #newest: () => Promise<Snapshot>;

  constructor(newest: () => Promise<Snapshot>) {
    this.#newest = newest;
  }

  pin(turnId: string): Promise<Snapshot> {
    const pinned = this.#turns.get(turnId);
    if (pinned !== undefined) return pinned;
    const snapshot = this.#newest();
    this.#turns.set(turnId, snapshot);
    snapshot.catch(() => this.release(turnId)); // the next call tries again; the caller gets the rejection
    return snapshot;
  }

  release(turnId: string): void {
    this.#turns.delete(turnId);
  }

  get size(): number {
    return this.#turns.size;
  }
}
