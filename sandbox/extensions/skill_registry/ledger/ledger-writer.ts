import { type Clock, codeOf, type ExtensionContext, type Logger } from 'pith';

/** One thing to be written. */
export type Entry = Parameters<ExtensionContext['database']['write']>[0];
/** One that must be prepared first, which is not done on anybody's way. */
export type LateEntry = { readonly prepare: () => Promise<Entry> };

export interface LedgerWriterPorts {
  readonly database: ExtensionContext['database'];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Rows are kept for so many days; 0: none is written. */
  readonly keepDays: number;
}

/** What waits is written after this time at the latest. */
const SOON_MS = 500;
/** Entries that wait for a database that cannot be written; older ones are given up. */
const MOST_WAITING = 10_000;

/** Writes the ledger's rows, several in one commit, and never lets anybody wait. */
export class LedgerWriter {
  readonly #ports: LedgerWriterPorts;
  #waiting: (Entry | LateEntry)[] = [];
  #writing: Promise<void> = Promise.resolve();
  #cancel: (() => void) | null = null;
  #ready = false;
  /** Why nothing is written any more; null while all is well. */
  #off: string | null;
  #failed = false;

  constructor(ports: LedgerWriterPorts) {
    this.#ports = ports;
    this.#off = ports.keepDays === 0 ? 'switched off' : null;
  }

  get isOff(): boolean {
    return this.#off !== null;
  }

  add(entry: Entry | LateEntry): void {
    if (this.isOff) return;
    this.#waiting.push(entry);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
    this.#cancel ??= this.#ports.clock.after(SOON_MS, () => void this.flush());
  }

  /** Writes what waits. Never rejects. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#waiting.length > 0) this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    let waiting = this.#waiting.splice(0);
    if (waiting.length === 0) return;
    try {
      if (!(await this.#isUsable())) return;
      while (waiting.length > 0) {
        const entries = await this.#prepared(waiting.slice(0, AT_ONCE));
        await this.#writeAll(entries, () => (waiting = waiting.slice(AT_ONCE)));
      }
      this.#failed = false;
      await prune(this.#ports);
    } catch (error) {
      this.#waiting = [...waiting, ...this.#waiting].slice(-MOST_WAITING); // written with what comes next
      this.#warn(error);
    }
  }

  /** One that cannot be prepared is given up. */
  async #prepared(waiting: readonly (Entry | LateEntry)[]): Promise<readonly Entry[]> {
    const made = await Promise.allSettled(waiting.map((entry) => ('prepare' in entry ? entry.prepare() : entry)));
    return made.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : (this.#warn(one.reason), [])));
  }

  /** In one commit. Where one entry can never be written, it is left out. Rejects when the database takes nothing now. */
  async #writeAll(entries: readonly Entry[], written: () => void): Promise<void> {
    const { database, clock } = this.#ports;
    const first = this.#ready ? [] : [...SCHEMA.map((sql) => ({ sql })), { sql: FIRST_ROW, values: [clock.now()] }];
    try {
      await database.write([...first, ...entries.flat()]);
      this.#ready = true;
      written();
    } catch (error) {
      if (codeOf(error, '') !== 'parameter_invalid') throw error;
      this.#warn(error);
      const halves = entries.length < 2 ? [] : [entries.slice(0, entries.length / 2), entries.slice(entries.length / 2)];
      written();
      for (const half of halves) await this.#writeAll(half, () => undefined);
    }
  }

  #warn(error: unknown): void {
    if (!this.#failed) this.#ports.logger.warn('what became of skills is not recorded', { error: String(error) });
    this.#failed = true;
  }

  /** Tables of a later version stay as they are. */
  async #isUsable(): Promise<boolean> {
    const { database } = this.#ports;
    if (this.#ready || !(await hasTables(database))) return true;
    const version = Number((await database.get('SELECT version FROM skill_registry__ledger'))?.['version'] ?? LEDGER_VERSION);
    if (version <= LEDGER_VERSION) return true;
    this.#off = `its tables are of version ${version}`;
    this.#ports.logger.warn(`what became of skills is not recorded: ${this.#off}`);
    return false;
  }
}

/** Whether anything was ever recorded. */
export async function hasTables(database: ExtensionContext['database']): Promise<boolean> {
  return (await database.get(`SELECT 1 FROM sqlite_master WHERE name = 'skill_registry__ledger'`)) !== null;
}

/** Of the tables below. Rows of a later version are left alone. */
const LEDGER_VERSION = 1;

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS skill_registry__ledger (version INTEGER NOT NULL, pruned INTEGER NOT NULL)`,
  // What turns had before them, each kind once: the ids that were offered, over budget and filtered, deflated JSON.
  `CREATE TABLE IF NOT EXISTS skill_registry__exposures (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, states BLOB NOT NULL)`,
  // shown: JSON ids of the skills that stood beside this one message.
  `CREATE TABLE IF NOT EXISTS skill_registry__turns (
     seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, thread TEXT NOT NULL, agent TEXT NOT NULL, at INTEGER NOT NULL,
     exposure INTEGER, shown TEXT
   )`,
  `CREATE INDEX IF NOT EXISTS skill_registry__turns_of_thread ON skill_registry__turns (thread, seq)`,
  // state: loaded, resource_read, script_run or dropped; turn is null where a person compacted the thread.
  `CREATE TABLE IF NOT EXISTS skill_registry__uses (
     seq INTEGER PRIMARY KEY AUTOINCREMENT, turn TEXT, thread TEXT NOT NULL, agent TEXT NOT NULL, skill TEXT NOT NULL, at INTEGER NOT NULL,
     state TEXT NOT NULL, how TEXT, sha256 TEXT, path TEXT, exit INTEGER, more TEXT, compactions INTEGER NOT NULL, outlived INTEGER NOT NULL
   )`,
  `CREATE INDEX IF NOT EXISTS skill_registry__uses_of_thread ON skill_registry__uses (thread, seq)`,
  `CREATE INDEX IF NOT EXISTS skill_registry__uses_of_turn ON skill_registry__uses (turn)`,
  `CREATE INDEX IF NOT EXISTS skill_registry__uses_of_skill ON skill_registry__uses (skill, seq)`,
] as const;

/** With the time from which the next pruning is counted. */
const FIRST_ROW = `INSERT INTO skill_registry__ledger SELECT ${LEDGER_VERSION}, ? WHERE NOT EXISTS (SELECT 1 FROM skill_registry__ledger)`;

const DAY_MS = 86_400_000;
/** One round deletes so many rows, so that no commit is long. */
const AT_ONCE = 2000;
const MOST_TURNS = 200_000;
const MOST_USES = 400_000;
/** What the exposures may take together. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Once a day, whichever process comes first: rows that are too old or too many go, and exposures that no turn names. */
async function prune({ database, clock, keepDays }: Omit<LedgerWriterPorts, 'logger'>): Promise<void> {
  const now = clock.now();
  const pruned = Number((await database.get('SELECT pruned FROM skill_registry__ledger'))?.['pruned'] ?? now);
  if (now >= pruned && now < pruned + DAY_MS) return;
  await database.write([{ sql: 'UPDATE skill_registry__ledger SET pruned = ?', values: [now] }]);
  for (const [table, most] of [
    ['turns', MOST_TURNS],
    ['uses', MOST_USES],
  ] as const)
    await shorten(database, `skill_registry__${table}`, now - keepDays * DAY_MS, most);
  const cut = await beyondBytes(database, MOST_BYTES);
  await database.write([
    ...(cut === null ? [] : [{ sql: 'DELETE FROM skill_registry__turns WHERE seq <= ?', values: [cut] }]),
    {
      sql: 'DELETE FROM skill_registry__exposures WHERE id NOT IN (SELECT exposure FROM skill_registry__turns WHERE exposure IS NOT NULL)',
    },
  ]);
}

async function shorten(database: ExtensionContext['database'], table: string, before: number, most: number): Promise<void> {
  const newest = Number((await database.get(`SELECT max(seq) AS seq FROM ${table}`))?.['seq'] ?? 0);
  const old = `SELECT seq FROM (SELECT seq, at FROM ${table} ORDER BY seq LIMIT ${AT_ONCE}) WHERE at < ? OR seq <= ?`;
  const oldest = { sql: `DELETE FROM ${table} WHERE seq IN (${old})`, values: [before, newest - most] };
  while ((await database.write([oldest]))[0] === AT_ONCE);
}

/** The turn up to which rows must go so that the exposures of the rest fit; null when all do. */
export async function beyondBytes(database: ExtensionContext['database'], most: number): Promise<number | null> {
  const rows = await database.all(
    `SELECT length(states) AS bytes, last FROM (SELECT exposure, max(seq) AS last FROM skill_registry__turns GROUP BY exposure) AS named
     JOIN skill_registry__exposures ON id = exposure ORDER BY last DESC`,
  );
  let held = 0;
  for (const { bytes, last } of rows) {
    held += Number(bytes);
    if (held > most) return Number(last);
  }
  return null;
}
