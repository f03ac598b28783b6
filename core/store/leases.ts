import { randomBytes } from 'node:crypto';
import type { Clock } from '../contract/index.ts';
import type { Store } from './store.ts';
import type { Statement } from './writer.ts';

/** Proof of a lease. A write that carries one changes nothing once another process has the name: the write itself compares the row. */
export interface Fence {
  readonly name: string;
  /** Identifies this one lease: a process that stalled and acquires the name again gets another. Begins with the process's id. */
  readonly holder: string;
}

/** Exclusive ownership of a name until `release`, renewed meanwhile. */
export interface Lease {
  readonly fence: Fence;
  /** Aborts when the lease could not be renewed in time and another process may have it. */
  readonly lost: AbortSignal;
  /** The previous holder did not release it: it was killed, or stalled. */
  readonly inherited: boolean;
  release(): Promise<void>;
}

export interface Leases {
  /**
   * null while another holder has the name. A dead holder keeps it until its time is over, whatever the clock does: at most `ttlMs` after
   * this process first asked.
   */
  acquire(name: string, ttlMs: number): Promise<Lease | null>;
  /** Whether anybody has the name now, by the rules of `acquire`. */
  isHeld(name: string, ttlMs: number): Promise<boolean>;
}

/** The rows of leases, by the store's clock. Any number of processes may call it at once. */
export interface LeaseRows {
  /** `inherited`: there was an expired row. */
  take(fence: Fence, ttlMs: number): Promise<'taken' | 'inherited' | 'held'>;
  /** False when another holder has the name. */
  renew(fence: Fence, ttlMs: number): Promise<boolean>;
  release(fence: Fence): Promise<void>;
  isHeld(name: string, ttlMs: number): Promise<boolean>;
}

/** An id for this process, unique among all that use a store. */
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
  };
}

const SCHEMA = ['CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID'];

const TAKE = `INSERT INTO leases VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until WHERE leases.until <= ?`;

/** Each change is one conditional statement. */
export function sqliteLeaseRows(store: Store, clock: Pick<Clock, 'now'>): LeaseRows {
  store.migrate('leases', SCHEMA);
  /** Handles a clock that was set back: no lease may last longer than one taken now. A living holder renews it meanwhile. */
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
      if (Number(until) > now + ttlMs) await store.write((statement) => shorten(statement, name, now + ttlMs)).catch(() => undefined); // it is still held
      return until !== undefined;
    },
  };
}

/** Whether the lease of `fence` is still valid. Asked inside a write, the answer holds until that write is on disk. */
export function isHeldInWrite(store: Store, { name, holder }: Fence): boolean {
  return store.get('SELECT 1 FROM leases WHERE name = ? AND owner = ?', name, holder) !== null;
}
