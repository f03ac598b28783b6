import type { Clock, Database, Logger } from 'pith';
import { prune } from './prune.ts';
import { FIRST_ROW, LEDGER_VERSION, SCHEMA } from './schema.ts';

export type Statement = Parameters<Parameters<Database['write']>[0]>[0];

/** One thing to be written. */
export type Entry = (statement: Statement) => void;
/** One that must be prepared first, which is not done on anybody's way. */
export type LateEntry = { readonly prepare: () => Promise<Entry> };

export interface LedgerWriterPorts {
  readonly database: Database;
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
    const waiting = this.#waiting.splice(0);
    if (waiting.length === 0) return;
    try {
      const entries = await Promise.all(waiting.map((entry) => ('prepare' in entry ? entry.prepare() : entry)));
      if (!this.#isUsable()) return;
      await this.#ports.database.write((statement) => {
        if (!this.#ready) {
          for (const sql of SCHEMA) statement(sql);
          statement(FIRST_ROW, this.#ports.clock.now());
        }
        for (const entry of entries) entry(statement);
      });
      this.#ready = true;
      this.#failed = false;
      await prune(this.#ports);
    } catch (error) {
      if (!this.#failed) this.#ports.logger.warn('what became of skills is not recorded', { error: String(error) });
      this.#failed = true;
    }
  }

  /** Tables of a later version stay as they are. */
  #isUsable(): boolean {
    if (this.#ready || !hasTables(this.#ports.database)) return true;
    const version = Number(this.#ports.database.get('SELECT version FROM skill_registry__ledger')?.['version'] ?? LEDGER_VERSION);
    if (version <= LEDGER_VERSION) return true;
    this.#off = `its tables are of version ${version}`;
    this.#ports.logger.warn(`what became of skills is not recorded: ${this.#off}`);
    return false;
  }
}

/** Whether anything was ever recorded. */
export function hasTables(database: Database): boolean {
  return database.get(`SELECT 1 FROM sqlite_master WHERE name = 'skill_registry__ledger'`) !== null;
}
