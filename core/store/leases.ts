import { randomBytes } from 'node:crypto';
import type { Clock } from '../contract/index.ts';
import type { Store } from './store.ts';
import type { Statement } from './writer.ts';

/** Proof of a lease. A write that carries one changes nothing once somebody else has the name: the write itself compares it with the lease's row. */
export interface Fence {
  readonly name: string;
  /** Of this one lease: a process that stalled and takes the name again gets another. It begins with the id of the process. */
  readonly holder: string;
}

/** A name that this process holds alone until `release`, renewed meanwhile. */
export interface Lease {
  readonly fence: Fence;
  /** Aborts when the lease could not be renewed in time and another process may hold it. */
  readonly lost: AbortSignal;
  /** Who had it before did not give it back: it was killed, or stalled. */
  readonly inherited: boolean;
  release(): Promise<void>;
  /** Renews it no more: nobody has the name before its time is over. */
  expire(): void;
}

export interface Leases {
  /** null while somebody else holds the name. A holder that died keeps it until its time is over, whatever the clock does: at most `ttlMs` from when it was first asked for here. */
  acquire(name: string, ttlMs: number): Promise<Lease | null>;
  /** Whether anybody holds the name now; as `acquire` judges it. */
  isHeld(name: string, ttlMs: number): Promise<boolean>;
}

/** The rows of leases, by the store's own clock. Any number of processes may ask at once. */
export interface LeaseRows {
  /** `inherited`: there was a row whose time was over. */
  take(fence: Fence, ttlMs: number): Promise<'taken' | 'inherited' | 'held'>;
  /** False when somebody else has the name. */
  renew(fence: Fence, ttlMs: number): Promise<boolean>;
  release(fence: Fence): Promise<void>;
  isHeld(name: string, ttlMs: number): Promise<boolean>;
}

/** Names this process among all that use a store. */
export function createOwner(): string {
  return `${process.pid}-${randomBytes(6).toString('hex')}`;
}

export function createLeases(rows: LeaseRows, clock: Clock, owner = createOwner()): Leases {
  let count = 0;
  return {
    isHeld: (name, ttlMs) => rows.isHeld(name, ttlMs),
    async acquire(name, ttlMs) {
      const fence = { name, holder: `${owner}-${(count += 1)}` };
      const until = clock.now() + ttlMs;
      const taken = await rows.take(fence, ttlMs);
      return taken === 'held' ? null : hold(rows, clock, { fence, ttlMs, until, inherited: taken === 'inherited' });
    },
  };
}

interface Taken {
  readonly fence: Fence;
  readonly ttlMs: number;
  /** By this process's clock, which only measures how long the store did not answer. */
  readonly until: number;
  readonly inherited: boolean;
}

function hold(rows: LeaseRows, clock: Clock, { fence, ttlMs, inherited, ...taken }: Taken): Lease {
  const lost = new AbortController();
  let { until } = taken;
  let released: Promise<void> | undefined;
  let cancel = clock.after(ttlMs / 3, renew);

  function renew(): void {
    const next = clock.now() + ttlMs;
    rows.renew(fence, ttlMs).then(
      (isOurs) => (isOurs ? renewed(next) : lose(`another process took '${fence.name}'`)),
      (error: unknown) => (clock.now() >= until ? lose(`'${fence.name}' could not be renewed`, error) : renewed(until)),
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
    fence,
    lost: lost.signal,
    inherited,
    release() {
      if (released === undefined) {
        cancel();
        released = rows.release(fence);
      }
      return released;
    },
    expire() {
      cancel();
      released ??= Promise.resolve();
    },
  };
}

const SCHEMA = ['CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID'];

const TAKE = `INSERT INTO leases VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until WHERE leases.until <= ?`;

/** Each change is one statement with its condition. */
export function sqliteLeaseRows(store: Store, clock: Pick<Clock, 'now'>): LeaseRows {
  store.migrate('leases', SCHEMA);
  /** The clock was set back: no lease lasts longer than one that is taken now. Its holder, where it lives, renews it meanwhile. */
  const shorten = (statement: Statement, name: string, end: number): void =>
    void statement('UPDATE leases SET until = ? WHERE name = ? AND until > ?', end, name, end);
  return {
    async take({ name, holder }, ttlMs) {
      let isFirst = false;
      let taken = 0;
      await store.write((statement) => {
        const now = clock.now();
        isFirst = store.get('SELECT 1 FROM leases WHERE name = ?', name) === null;
        taken = statement(TAKE, name, holder, now + ttlMs, now).changes;
        if (taken === 0) shorten(statement, name, now + ttlMs);
      });
      return taken === 0 ? 'held' : isFirst ? 'taken' : 'inherited';
    },
    async renew({ name, holder }, ttlMs) {
      let changes = 0;
      await store.write((statement) => {
        const until = clock.now() + ttlMs;
        ({ changes } = statement('UPDATE leases SET until = ? WHERE name = ? AND owner = ?', until, name, holder));
      });
      return changes > 0;
    },
    release: ({ name, holder }) =>
      store.write((statement) => void statement('DELETE FROM leases WHERE name = ? AND owner = ?', name, holder)),
    async isHeld(name, ttlMs) {
      const now = clock.now();
      const until = store.get('SELECT until FROM leases WHERE name = ? AND until > ?', name, now)?.until;
      if (Number(until) > now + ttlMs) await store.write((statement) => shorten(statement, name, now + ttlMs)).catch(() => undefined); // it is held all the same
      return until !== undefined;
    },
  };
}

/** Whether the lease of `fence` still counts. Asked inside a write, it counts until that write is on disk. */
export function isHeldInWrite(store: Store, { name, holder }: Fence): boolean {
  return store.get('SELECT 1 FROM leases WHERE name = ? AND owner = ?', name, holder) !== null;
}
