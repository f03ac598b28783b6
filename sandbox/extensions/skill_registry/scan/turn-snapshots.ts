import { keepNewest } from '../ledger/thread-loads.ts';
import type { Snapshot } from '../skill.ts';

/** More turns than this do not run at once; the oldest is one whose end was never heard of. */
const LIMIT = 4096;
/** Turns that are being prepared at once; a call outside of a turn is prepared and never begins. */
const PREPARED = 64;

/** The snapshot of a turn, and whether its preparation begins with this. */
export interface TurnSnapshot {
  readonly snapshot: Promise<Snapshot>;
  readonly begins: boolean;
}

/** Gives every turn the snapshot that it began with, until it ends. */
export class TurnSnapshots {
  readonly #turns = new Map<string, Promise<Snapshot>>();
  /** Their tools have been asked for, and their context not yet. */
  readonly #prepared = new Map<string, Promise<Snapshot>>();
  readonly #running = new Set<string>();
  readonly #newest: () => Promise<Snapshot>;

  constructor(newest: () => Promise<Snapshot>) {
    this.#newest = newest;
  }

  /** Called where the tools of a turn are asked for: before its prompt is made, and again while it runs. */
  prepare(turnId: string): TurnSnapshot {
    if (this.#running.has(turnId)) return { snapshot: this.of(turnId), begins: false };
    const snapshot = this.#newest();
    keepNewest(this.#prepared, turnId, snapshot, PREPARED);
    snapshot.catch(() => this.#prepared.delete(turnId)); // the caller gets the rejection; the next call tries again
    return { snapshot, begins: true };
  }

  /** Called where a turn's prompt is made. A preview, which never ends, starts over each time. */
  begin(turnId: string): TurnSnapshot {
    const prepared = this.#prepared.get(turnId);
    this.#prepared.delete(turnId);
    const snapshot = prepared ?? this.#newest();
    keepNewest(this.#turns, turnId, snapshot, LIMIT);
    snapshot.catch(() => this.release(turnId));
    return { snapshot, begins: prepared === undefined };
  }

  /** The turn is more than a preview: until it ends, its tools are asked for again. */
  started(turnId: string): void {
    if (this.#turns.has(turnId)) this.#running.add(turnId);
  }

  /** The snapshot of a turn that has begun; the newest for calls outside of one. */
  of(turnId: string): Promise<Snapshot> {
    return this.#turns.get(turnId) ?? this.#newest();
  }

  release(turnId: string): void {
    this.#turns.delete(turnId);
    this.#running.delete(turnId);
  }
}
