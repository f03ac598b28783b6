import { messageOf } from '../contract/errors.ts';
import type { Clock, Logger } from '../contract/index.ts';
import type { Store } from '../store/store.ts';
import type { Statement } from '../store/writer.ts';
import type { Journal } from './journal.ts';

/** One schedule of a manifest. */
export interface DeclaredSchedule {
  readonly extensionId: string;
  readonly name: string;
  readonly cron: string;
  readonly handler: string;
}

export interface SchedulesOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of every enabled extension. */
  declared(): readonly DeclaredSchedule[];
}

/** Keeps one `schedule.due` in the future for each schedule that is declared; the durable timer delivers it. */
export interface Schedules {
  /** Renews what was changed, removed or added. */
  refresh(): void;
  /** Plans the next run of what has fallen due. Cheap when nothing has. */
  look(): void;
}

type NextRun = (pattern: string, after: number) => number | null;

export function createSchedules({ store, journal, clock, logger, declared }: SchedulesOptions): Schedules {
  /** The earliest time at which a run must be planned; 0: look at once. */
  let next: number = Infinity;
  let working: Promise<void> = Promise.resolve();

  function plan(): void {
    next = Infinity; // until the plan is made
    working = working.then(renew).catch((error: unknown) => {
      logger.warn('the schedules could not be planned', { error: messageOf(error) });
      next = clock.now() + RETRY_MS;
    });
  }

  async function renew(): Promise<void> {
    const wanted = new Map(declared().map((schedule) => [nameOf(schedule), schedule]));
    const stored = store.all('SELECT name, spec, next FROM schedules');
    if (wanted.size === 0 && stored.length === 0) return;
    const { nextRun } = await import('./cron.ts');
    const now = clock.now();
    const rows = new Map(stored.map(({ name, spec, next: due }) => [String(name), { spec: String(spec), next: Number(due) }]));
    const stale = [...rows].some(
      ([name, row]) => wanted.get(name) === undefined || specOf(wanted.get(name)!) !== row.spec || row.next <= now,
    );
    if (stale || rows.size !== wanted.size) await store.write((statement) => write(statement, wanted, nextRun, now));
    next = Number(store.get('SELECT min(next) AS next FROM schedules')?.next ?? Infinity);
  }

  /** Reads the rows again: another process may have planned meanwhile. */
  function write(statement: Statement, wanted: ReadonlyMap<string, DeclaredSchedule>, nextRun: NextRun, now: number): void {
    const there = new Set<string>();
    for (const row of store.all('SELECT name, spec, next, event FROM schedules')) {
      const name = String(row.name);
      const schedule = wanted.get(name);
      if (schedule !== undefined && specOf(schedule) === row.spec) {
        there.add(name);
        if (Number(row.next) <= now) advance(statement, schedule, Number(row.event), nextRun, now);
      } else {
        statement('DELETE FROM deliveries WHERE event = ? AND due > 0', Number(row.event));
        statement('DELETE FROM schedules WHERE name = ?', name);
      }
    }
    for (const [name, schedule] of wanted) if (!there.has(name)) put(statement, schedule, nextRun, now);
  }

  /** The run that is due is delivered by now; of those before it that nobody has begun, none is needed any more. */
  function advance(statement: Statement, schedule: DeclaredSchedule, event: number, nextRun: NextRun, now: number): void {
    statement(
      'DELETE FROM deliveries WHERE handler = ? AND key = ? AND event < ? AND attempts = 0 AND due <= ?',
      `${schedule.extensionId}/${schedule.handler}`,
      keyOf(schedule),
      event,
      now,
    );
    put(statement, schedule, nextRun, now);
  }

  function put(statement: Statement, schedule: DeclaredSchedule, nextRun: NextRun, now: number): void {
    const at = nextRun(schedule.cron, now);
    if (at === null) return void statement('DELETE FROM schedules WHERE name = ?', nameOf(schedule));
    const { extensionId, name } = schedule;
    const event = journal.append(statement, 'schedule.due', { v: 1, extensionId, name, at }, { at, key: keyOf(schedule) });
    statement(
      `INSERT INTO schedules VALUES (?, ?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, next = excluded.next, event = excluded.event`,
      nameOf(schedule),
      specOf(schedule),
      at,
      event,
    );
  }

  return {
    refresh: plan,
    look() {
      if (clock.now() >= next) plan();
    },
  };
}

const RETRY_MS = 5000;

function nameOf({ extensionId, name }: DeclaredSchedule): string {
  return `${extensionId}/${name}`;
}

function keyOf(schedule: DeclaredSchedule): string {
  return `schedule ${nameOf(schedule)}`;
}

/** What makes it another schedule: also the zone in which its times are read. */
function specOf({ cron, handler }: DeclaredSchedule): string {
  return JSON.stringify([cron, handler, Intl.DateTimeFormat().resolvedOptions().timeZone]);
}
