import { randomBytes } from 'node:crypto';
import type { Clock } from '../contract/index.ts';
import type { Store } from './store.ts';

/** A name that this process holds alone until `release`, renewed meanwhile. */
export interface Lease {
  readonly name: string;
  /** Aborts when the lease could not be renewed in time and another process may hold it. */
  readonly lost: AbortSignal;
  /** Who had it before did not give it back: it was killed, or stalled. */
  readonly inherited: boolean;
  /** Whether the name is still this lease's. Asked inside a write, it holds until that write is on disk. */
  isHeld(): boolean;
  release(): Promise<void>;
  /** Renews it no more: nobody has the name before its time is over. */
  expire(): void;
}

export interface Leases {
  /** null while somebody else holds the name. A holder that died keeps it until its time is over, whatever the clock does: at most `ttlMs` from when it was first asked for here. */
  acquire(name: string, ttlMs: number): Promise<Lease | null>;
  /** Whether anybody holds the name now; as `acquire` judges it. */
  isHeld(name: string, ttlMs: number): boolean;
}

const SCHEMA = ['CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID'];

/** Names this process among all that use a store. */
export function createOwner(): string {
  return `${process.pid}-${randomBytes(6).toString('hex')}`;
}

/** Each change is one statement with its condition, so that any number of processes may try at once. */
export function createLeases(store: Store, clock: Clock, owner: string): Leases {
  store.migrate('leases', SCHEMA);
  let count = 0;
  /** The clock was set back: no lease lasts longer than one that is taken now. Its holder, where it lives, renews it meanwhile. */
  const shorten = async (name: string, ttlMs: number): Promise<void> => {
    const end = clock.now() + ttlMs;
    if (store.get('SELECT 1 FROM leases WHERE name = ? AND until > ?', name, end) === null) return;
    await store.write((statement) => void statement('UPDATE leases SET until = ? WHERE name = ? AND until > ?', end, name, end));
  };
  return {
    isHeld(name, ttlMs) {
      shorten(name, ttlMs).catch(() => undefined); // it is held for now, and whoever wants to have it is told
      return store.get('SELECT 1 FROM leases WHERE name = ? AND until > ?', name, clock.now()) !== null;
    },
    async acquire(name, ttlMs) {
      const holder = `${owner}-${(count += 1)}`; // a lease of the same process that was lost must not release a later one
      let taken = 0;
      let inherited = false;
      await store.write((statement) => {
        const now = clock.now();
        inherited = store.get('SELECT 1 FROM leases WHERE name = ?', name) !== null;
        taken = statement(
          'INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until WHERE leases.until <= ?',
          name,
          holder,
          now + ttlMs,
          now,
        ).changes;
      });
      if (taken > 0) return hold(store, clock, name, holder, ttlMs, inherited);
      await shorten(name, ttlMs);
      return null;
    },
  };
}

function hold(store: Store, clock: Clock, name: string, holder: string, ttlMs: number, inherited: boolean): Lease {
  const lost = new AbortController();
  let until = clock.now() + ttlMs;
  let released: Promise<void> | undefined;
  let cancel = clock.after(ttlMs / 3, renew);

  function renew(): void {
    let changes = 0;
    let next = 0;
    store
      .write((statement) => {
        next = clock.now() + ttlMs;
        ({ changes } = statement('UPDATE leases SET until = ? WHERE name = ? AND owner = ?', next, name, holder));
      })
      .then(
        () => (changes === 0 ? lose(`another process took '${name}'`) : renewed(next)),
        (error: unknown) => (clock.now() >= until ? lose(`'${name}' could not be renewed`, error) : renewed(until)),
      );
  }

  function renewed(end: number): void {
    until = end;
    if (released === undefined) cancel = clock.after(ttlMs / 3, renew);
  }

  function lose(why: string, cause?: unknown): void {
    if (released === undefined) lost.abort(new Error(`lease lost: ${why}`, { cause }));
  }

  return {
    name,
    lost: lost.signal,
    inherited,
    isHeld: () => store.get('SELECT 1 FROM leases WHERE name = ? AND owner = ?', name, holder) !== null,
    release() {
      if (released === undefined) {
        cancel();
        released = store.write((statement) => void statement('DELETE FROM leases WHERE name = ? AND owner = ?', name, holder));
      }
      return released;
    },
    expire() {
      cancel();
      released ??= Promise.resolve();
    },
  };
}
