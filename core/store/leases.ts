import { randomBytes } from 'node:crypto';
import { type Clock, PithError } from '../contract/index.ts';
import type { SqlRow } from './parameters.ts';
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
  /** Aborts when somebody, in whichever process, asked this holder to stop: its reason says who. */
  readonly stopped: AbortSignal;
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
  /** Asks the present holder, and none after it, to stop: it hears of it within a third of its lease. null: nobody has the name. */
  askToStop(name: string, by: string): Promise<Fence | null>;
  /** Whether that holder still has the name. */
  isHolder(fence: Fence): Promise<boolean>;
}

/** The rows of leases, by the store's clock. Any number of processes may call it at once. */
export interface LeaseRows {
  /** `inherited`: there was an expired row. */
  take(fence: Fence, ttlMs: number): Promise<'taken' | 'inherited' | 'held'>;
  /** `isOurs` is false when another holder has the name. `stopBy`: who asked this holder to stop; null: nobody did. */
  renew(fence: Fence, ttlMs: number): Promise<{ readonly isOurs: boolean; readonly stopBy: string | null }>;
  release(fence: Fence): Promise<void>;
  isHeld(name: string, ttlMs: number): Promise<boolean>;
  askToStop(name: string, by: string): Promise<Fence | null>;
  isHolder(fence: Fence): Promise<boolean>;
}

/** An id for this process, unique among all that use a store. */
export function createOwner(): string {
  return `${process.pid}-${randomBytes(6).toString('hex')}`;
}

export function createLeases(rows: LeaseRows, clock: Clock, owner = createOwner()): Leases {
  let count = 0;
  /** By holder: what this process has, and how it looks at its row now. */
  const held = new Map<string, () => void>();
  return {
    isHeld: (name, ttlMs) => rows.isHeld(name, ttlMs),
    isHolder: (fence) => rows.isHolder(fence),
    async askToStop(name, by) {
      const asked = await rows.askToStop(name, by);
      if (asked !== null) held.get(asked.holder)?.();
      return asked;
    },
    async acquire(name, ttlMs) {
      const fence = { name, holder: `${owner}-${(count += 1)}` };
      const until = clock.now() + ttlMs;
      const taken = await rows.take(fence, ttlMs);
      return taken === 'held' ? null : hold(rows, clock, { fence, ttlMs, until, held, inherited: taken === 'inherited' });
    },
  };
}

interface Taken {
  readonly fence: Fence;
  readonly ttlMs: number;
  /** By this process's clock, which only measures how long the store did not answer. */
  readonly until: number;
  readonly inherited: boolean;
  readonly held: Map<string, () => void>;
}

function hold(rows: LeaseRows, clock: Clock, { fence, ttlMs, inherited, held, ...taken }: Taken): Lease {
  const [lost, stopped] = [new AbortController(), new AbortController()];
  let { until } = taken;
  let released: Promise<void> | undefined;
  let cancel = clock.after(ttlMs / 3, renew);
  held.set(fence.holder, () => (cancel(), renew()));

  function renew(): void {
    const next = clock.now() + ttlMs;
    rows.renew(fence, ttlMs).then(
      ({ isOurs, stopBy }) => {
        if (!isOurs) return lose(`another process took '${fence.name}'`);
        if (stopBy !== null && released === undefined) stopped.abort(new PithError('aborted', `stopped by ${stopBy}`));
        renewed(next);
      },
      (error: unknown) => (clock.now() >= until ? lose(`'${fence.name}' could not be renewed`, error) : renewed(until)),
    );
  }

  function renewed(end: number): void {
    until = end;
    cancel();
    if (released === undefined) cancel = clock.after(ttlMs / 3, renew);
  }

  function lose(why: string, cause?: unknown): void {
    held.delete(fence.holder);
    if (released === undefined) lost.abort(new Error(`lease lost: ${why}`, { cause }));
  }

  return {
    fence,
    lost: lost.signal,
    stopped: stopped.signal,
    inherited,
    release() {
      if (released === undefined) {
        cancel();
        held.delete(fence.holder);
        released = rows.release(fence);
      }
      return released;
    },
  };
}

const SCHEMA = [
  'CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID',
  // A request is for one holder: a row of another one says nothing.
  'CREATE TABLE leasestops (name TEXT PRIMARY KEY, owner TEXT NOT NULL, asker TEXT NOT NULL) WITHOUT ROWID',
];

const TAKE = `INSERT INTO leases VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until WHERE leases.until <= ?`;
const ASK_TO_STOP = 'INSERT OR REPLACE INTO leasestops SELECT name, owner, ? FROM leases WHERE name = ? AND until > ?';

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
      let stop: SqlRow | null = null;
      await store.write((statement) => {
        const until = clock.now() + ttlMs;
        ({ changes } = statement('UPDATE leases SET until = ? WHERE name = ? AND owner = ?', until, name, holder));
        stop = store.get('SELECT asker FROM leasestops WHERE name = ? AND owner = ?', name, holder);
      });
      return { isOurs: changes > 0, stopBy: stop === null ? null : String((stop as SqlRow).asker) };
    },
    release: ({ name, holder }) =>
      store.write((statement) => {
        for (const table of ['leases', 'leasestops']) statement(`DELETE FROM ${table} WHERE name = ? AND owner = ?`, name, holder);
      }),
    async askToStop(name, by) {
      let holder: string | null = null;
      await store.write((statement) => {
        if (statement(ASK_TO_STOP, by, name, clock.now()).changes === 0) return;
        holder = String(store.get('SELECT owner FROM leasestops WHERE name = ?', name)?.owner);
      });
      return holder === null ? null : { name, holder };
    },
    isHolder: async ({ name, holder }) =>
      store.get('SELECT 1 FROM leases WHERE name = ? AND owner = ? AND until > ?', name, holder, clock.now()) !== null,
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
