import type { ExtensionContext } from 'pith';

/** The skills that triggers matched in one thread, at the start of a turn. */
export interface MatchedSkills {
  /** The last counted turn. */
  readonly turnId: string | null;
  /** The number of counted turns. */
  readonly turns: number;
  /** References, each with the number of the last turn that matched it; latest first. */
  readonly matched: readonly (readonly [reference: string, turn: number])[];
}

const NOTHING: MatchedSkills = { turnId: null, turns: 0, matched: [] };
/** The most skills of a thread, and the most threads: a forgotten skill is matched again. */
const MOST = 50;
const THREADS = 10_000;

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS skill_triggers__threads (
     thread TEXT PRIMARY KEY, turn TEXT NOT NULL, turns INTEGER NOT NULL, matched TEXT NOT NULL, at INTEGER NOT NULL
   )`,
  'CREATE INDEX IF NOT EXISTS skill_triggers__threads_by_age ON skill_triggers__threads (at)',
];

type Ports = Pick<ExtensionContext, 'database' | 'clock' | 'logger'>;

/** Stores by thread which skills triggers matched, for later turns and processes. Never throws: what is not stored is matched again. */
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

  /** Counts one more turn of the thread, which matched these. */
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
      this.ports.logger.warn('matched skills cannot be stored', { error: String(error) });
    }
  }

  async #isThere(): Promise<boolean> {
    const name = 'skill_triggers__threads';
    this.#hasTable ||= (await this.ports.database.get('SELECT 1 FROM sqlite_master WHERE name = ?', name)) !== null;
    return this.#hasTable;
  }
}
