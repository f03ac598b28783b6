import type { ExtensionContext } from 'pith';

/** What triggers brought in one thread, as it was when a turn began. */
export interface MatchedSkills {
  /** The turn that was counted last. */
  readonly turnId: string | null;
  /** How many turns have been counted. */
  readonly turns: number;
  /** References, each with the number of the turn that matched it last; the latest first. */
  readonly matched: readonly (readonly [reference: string, turn: number])[];
}

const NOTHING: MatchedSkills = { turnId: null, turns: 0, matched: [] };
/** Of one thread, and threads: what is forgotten is matched again. */
const MOST = 50;
const THREADS = 10_000;

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS skill_triggers__threads (
     thread TEXT PRIMARY KEY, turn TEXT NOT NULL, turns INTEGER NOT NULL, matched TEXT NOT NULL, at INTEGER NOT NULL
   )`,
  'CREATE INDEX IF NOT EXISTS skill_triggers__threads_by_age ON skill_triggers__threads (at)',
];

type Ports = Pick<ExtensionContext, 'database' | 'clock' | 'logger'>;

/** Keeps by thread what triggers brought, for the turns after it, also of other processes. Nothing throws: what cannot be kept is matched again. */
export class MatchedByThread {
  #written: Promise<void> = Promise.resolve();
  #hasTable = false;

  constructor(private readonly ports: Ports) {}

  async of(threadId: string): Promise<MatchedSkills> {
    await this.#written;
    try {
      if (!(await this.#isThere())) return NOTHING;
      const row = await this.ports.database.get('SELECT turn, turns, matched FROM skill_triggers__threads WHERE thread = ?', threadId);
      if (row === null) return NOTHING;
      return {
        turnId: String(row['turn']),
        turns: Number(row['turns']),
        matched: JSON.parse(String(row['matched'])) as MatchedSkills['matched'],
      };
    } catch (error) {
      this.ports.logger.warn('what triggers brought before is not known', { error: String(error) });
      return NOTHING;
    }
  }

  /** One more turn of the thread, which matched these. */
  add(threadId: string, turnId: string, { turns, matched }: MatchedSkills, references: readonly string[]): void {
    const number = turns + 1;
    const others = matched.filter(([reference]) => !references.includes(reference));
    const all = [...references.map((reference) => [reference, number] as const), ...others].slice(0, MOST);
    this.#written = this.#written.then(() => this.#write([threadId, turnId, number, JSON.stringify(all), this.ports.clock.now()]));
  }

  /** Resolves when all is on disk. */
  settled(): Promise<void> {
    return this.#written;
  }

  async #write(values: readonly (string | number)[]): Promise<void> {
    const isNew = values[2] === 1;
    const row = { sql: 'INSERT OR REPLACE INTO skill_triggers__threads (thread, turn, turns, matched, at) VALUES (?, ?, ?, ?, ?)', values };
    const tooOld = {
      sql: 'DELETE FROM skill_triggers__threads WHERE thread IN (SELECT thread FROM skill_triggers__threads ORDER BY at DESC LIMIT -1 OFFSET ?)',
      values: [THREADS],
    };
    try {
      const tables = (await this.#isThere()) ? [] : SCHEMA.map((sql) => ({ sql }));
      await this.ports.database.write([...tables, row, ...(isNew ? [tooOld] : [])]);
    } catch (error) {
      this.ports.logger.warn('what triggers brought cannot be kept', { error: String(error) });
    }
  }

  async #isThere(): Promise<boolean> {
    const name = 'skill_triggers__threads';
    this.#hasTable ||= (await this.ports.database.get('SELECT 1 FROM sqlite_master WHERE name = ?', name)) !== null;
    return this.#hasTable;
  }
}
