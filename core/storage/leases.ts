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
  release(): Promise<void>;
}

export interface Leases {
  /** null while somebody else holds the name. A holder that died keeps it until its time is over, whatever the clock does: at most `ttlMs` from when it was first asked for here. */
  acquire(name: string, ttlMs: number): Promise<Lease | null>;
  /** Whether anybody holds the name now; as `acquire` judges it. */
  isHeld(name: string, ttlMs: number): boolean;
}

const SCHEMA = ['CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID'];

const TAKE = `INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
  WHERE leases.until <= ? OR (leases.owner = ? AND leases.until = ?)`;

interface Row {
  readonly owner: string;
  readonly until: number;
}

/** Names this process among all that use a store. */
export function createOwner(): string {
  return `${process.pid}-${randomBytes(6).toString('hex')}`;
}

/** Each change is one statement with its condition, so that any number of processes may try at once. */
export function createLeases(store: Store, clock: Clock, owner: string): Leases {
  store.migrate('leases', SCHEMA);
  let count = 0;
  const outlived = judge(store, clock);
  return {
    isHeld: (name, ttlMs) =>
      store.get('SELECT 1 FROM leases WHERE name = ? AND until > ?', name, clock.now()) !== null && outlived(name, ttlMs) === null,
    async acquire(name, ttlMs) {
      const holder = `${owner}-${(count += 1)}`; // a lease of the same process that was lost must not release a later one
      let inherited = false;
      const take = async (over: Row | null): Promise<boolean> => {
        let taken = 0;
        await store.write((statement) => {
          const now = clock.now();
          inherited = store.get('SELECT 1 FROM leases WHERE name = ?', name) !== null;
          taken = statement(TAKE, name, holder, now + ttlMs, now, over?.owner ?? '', over?.until ?? 0).changes;
        });
        return taken > 0;
      };
      let isTaken = await take(null);
      const over = isTaken ? null : outlived(name, ttlMs);
      if (over !== null) isTaken = await take(over);
      return isTaken ? hold(store, clock, name, holder, ttlMs, inherited) : null;
    },
  };
}

/**
 * Finds leases that a clock set back made last too long. One that ends later than any could that is taken now is still
 * its holder's for as long as a lease lasts: a holder that lives renews it meanwhile.
 */
function judge(store: Store, clock: Clock): (name: string, ttlMs: number) => Row | null {
  const seen = new Map<string, Row & { readonly since: number }>();
  return (name, ttlMs) => {
    const found = store.get('SELECT owner, until FROM leases WHERE name = ?', name);
    const row = found && { owner: String(found.owner), until: Number(found.until) };
    const now = clock.now();
    const known = seen.get(name);
    if (row === null || row.until <= now + ttlMs) {
      seen.delete(name);
      return null;
    }
    if (known?.owner === row.owner && known.until === row.until && now >= known.since) return now - known.since >= ttlMs ? row : null;
    seen.set(name, { ...row, since: now });
    return null;
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
    release() {
      if (released === undefined) {
        cancel();
        released = store.write((statement) => void statement('DELETE FROM leases WHERE name = ? AND owner = ?', name, holder));
      }
      return released;
    },
  };
}
