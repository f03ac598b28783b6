import { type Clock, codeOf, type ExtensionContext, type Logger, type TopicMap } from 'pith';
import { hideKeys } from '@pith/plain-text';
import type { SkillsOffered, SkillsSearched, SkillUsed } from 'pith/skill_registry';

export type Database = ExtensionContext['database'];
type Entry = Parameters<Database['write']>[0];

export interface LedgerOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many days rows are kept; 0: none is written. */
  readonly keepDays: number;
}

/** The longest time until waiting entries are written. */
const SOON_MS = 500;
/** The most entries that wait for a database that cannot be written; older ones are dropped. */
const MOST_WAITING = 10_000;

/** Records how skills are used, several rows in one commit. Works in the background, and never throws. */
export class Ledger {
  readonly #options: LedgerOptions;
  #waiting: Entry[] = [];
  #writing: Promise<void> = Promise.resolve();
  #cancel: (() => void) | null = null;
  #ready = false;
  #off: boolean;
  #failed = false;
  /** The tool calls of running turns, and how many of them failed. */
  readonly #calls = new Map<string, { calls: number; failed: number }>();

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#off = options.keepDays === 0;
  }

  /** Records which skills a turn was shown. A skill that was suggested with the message has a row. */
  offered({ turnId, threadId, agentId, shown, counts }: SkillsOffered): void {
    if (isWorker(agentId)) return;
    const at = this.#options.clock.now();
    this.#add([
      { sql: INSERT_TURN, values: [turnId, threadId, agentId, at, counts.readable, counts.offered, counts.shown] },
      ...shown.map((skill) => insertUse({ turnId, threadId, agentId, skillId: skill, state: 'suggested' }, at)),
    ]);
  }

  /** A worker's skill is counted where its caller ran it. */
  used(use: SkillUsed): void {
    if (use.state === 'dropped' || (use.how === 'uses_skills' && isWorker(use.agentId))) return;
    this.#add([insertUse(use, this.#options.clock.now())]);
  }

  /** Records a search that found nothing that fits. */
  searched({ turnId, threadId, agentId, query, fitting }: SkillsSearched): void {
    if (query === null || fitting > 0 || isWorker(agentId)) return;
    this.#add([{ sql: INSERT_SEARCH, values: [turnId, threadId, agentId, this.#options.clock.now(), shortened(hideKeys(query))] }]);
  }

  called({ turnId, ok }: TopicMap['tool.called']): void {
    const counts = this.#calls.get(turnId) ?? { calls: 0, failed: 0 };
    counts.calls += 1;
    if (!ok) counts.failed += 1;
    this.#calls.set(turnId, counts);
  }

  /** Records how a turn ended: one that continues after a question ends once more. */
  ended({ turnId, reason }: TopicMap['turn.ended']): void {
    const { calls, failed } = this.#calls.get(turnId) ?? { calls: 0, failed: 0 };
    this.#calls.delete(turnId);
    this.#add([{ sql: UPDATE_TURN, values: [reason, calls, failed, turnId] }]);
  }

  /** Records what a compaction removed from the thread. */
  async compacted({ threadId, turnId, dropped }: TopicMap['thread.compacted']): Promise<readonly SkillUsed[]> {
    await this.flush();
    const found = await Promise.all(dropped.map(({ key, digest }) => this.#holder(threadId, key, digest)));
    const uses = found.flatMap((agentId, at): readonly SkillUsed[] => {
      const { key: skillId, digest } = dropped[at]!;
      const sha256 = digest.slice(0, 64);
      return agentId === null ? [] : [{ turnId, threadId, agentId, skillId, state: 'dropped', sha256, correlationId: null }];
    });
    for (const use of uses) this.#add([insertUse(use, this.#options.clock.now())]);
    return uses;
  }

  /** Writes waiting entries. Never rejects. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#waiting.length > 0) this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  #add(entry: Entry): void {
    if (this.#off) return;
    this.#waiting.push(entry);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
    this.#cancel ??= this.#options.clock.after(SOON_MS, () => void this.flush());
  }

  /** The agent for which the thread last loaded that text; null: it did not. */
  async #holder(threadId: string, skillId: string, digest: string): Promise<string | null> {
    const { database } = this.#options;
    try {
      if (!(await hasTables(database))) return null;
      const row = await database.get(LAST_LOAD, threadId, skillId, digest.slice(0, 64));
      return row === null ? null : String(row['agent']);
    } catch (error) {
      this.#warn(error);
      return null;
    }
  }

  async #write(): Promise<void> {
    let waiting = this.#waiting.splice(0);
    if (waiting.length === 0) return;
    try {
      if (!(await this.#isUsable())) return;
      while (waiting.length > 0) await this.#writeAll(waiting.slice(0, AT_ONCE), () => (waiting = waiting.slice(AT_ONCE)));
      this.#failed = false;
      await prune(this.#options);
    } catch (error) {
      this.#waiting = [...waiting, ...this.#waiting].slice(-MOST_WAITING); // written with the next entries
      this.#warn(error);
    }
  }

  /** In one commit, without an entry that can never be written. Rejects when the database accepts nothing now. */
  async #writeAll(entries: readonly Entry[], written: () => void): Promise<void> {
    const { database, clock } = this.#options;
    const first = this.#ready ? [] : [...(await schemaFor(database)), { sql: FIRST_ROW, values: [clock.now()] }];
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
    if (!this.#failed) this.#options.logger.warn('what became of skills is not recorded', { error: String(error) });
    this.#failed = true;
  }

  /** False for tables of a later version, which stay as they are. */
  async #isUsable(): Promise<boolean> {
    const { database, logger } = this.#options;
    if (this.#ready || !(await hasTables(database))) return true;
    const version = Number((await database.get('SELECT version FROM skill_stats__ledger'))?.['version'] ?? VERSION);
    if (version <= VERSION) return true;
    this.#off = true;
    logger.warn(`what became of skills is not recorded: its tables are of version ${version}`);
    return false;
  }
}

/** Whether anything was ever recorded. */
export async function hasTables(database: Database): Promise<boolean> {
  return (await database.get(`SELECT 1 FROM sqlite_master WHERE name = 'skill_stats__ledger'`)) !== null;
}

/** An agent that `run_skill` makes of a skill: no declared agent has a colon in its id. */
const isWorker = (agentId: string): boolean => agentId.startsWith('skill:');

/** What a model looks for is a few words. */
const LONGEST_QUERY = 120;

function shortened(query: string): string {
  const words = query.trim().replace(/\s+/gu, ' ');
  return words.length <= LONGEST_QUERY ? words : `${words.slice(0, LONGEST_QUERY).replace(/[\ud800-\udbff]$/u, '')}…`;
}

type Use = Pick<SkillUsed, 'turnId' | 'threadId' | 'agentId' | 'skillId' | 'how' | 'sha256' | 'path' | 'exit'>;

function insertUse(use: Use & { readonly state: SkillUsed['state'] | 'suggested' }, at: number): Entry[number] {
  const { turnId, threadId, agentId, skillId, state, how = null, sha256 = null, path = null, exit = null } = use;
  return { sql: INSERT_USE, values: [turnId, threadId, agentId, skillId, at, state, how, sha256, path, exit] };
}

/** The version of the tables below. Rows of a later version are left alone. */
const VERSION = 2;

/** Whether what version 2 added is there: until it is, nobody has used this version. */
export async function hasSearches(database: Database): Promise<boolean> {
  return (await database.get(`SELECT 1 FROM sqlite_master WHERE name = 'skill_stats__searches'`)) !== null;
}

/** Makes the tables, or adds what version 2 has more. */
async function schemaFor(database: Database): Promise<Entry> {
  const isOld = (await hasTables(database)) && !(await hasSearches(database));
  return [...(isOld ? ADDED : []), ...SCHEMA].map((sql) => ({ sql }));
}

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS skill_stats__ledger (version INTEGER NOT NULL, pruned INTEGER NOT NULL)`,
  // How the turn ended (null: it has not), its tool calls and those that failed; how many skills the agent may read, how many the model was offered, and how many were suggested with the message only.
  `CREATE TABLE IF NOT EXISTS skill_stats__turns (
     seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, thread TEXT NOT NULL, agent TEXT NOT NULL, at INTEGER NOT NULL,
     readable INTEGER NOT NULL, offered INTEGER NOT NULL, shown INTEGER NOT NULL,
     ended TEXT, calls INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0
   )`,
  // state: suggested, loaded, resource_read, script_run or dropped; turn is null where a person compacted the thread.
  `CREATE TABLE IF NOT EXISTS skill_stats__uses (
     seq INTEGER PRIMARY KEY AUTOINCREMENT, turn TEXT, thread TEXT NOT NULL, agent TEXT NOT NULL, skill TEXT NOT NULL, at INTEGER NOT NULL,
     state TEXT NOT NULL, how TEXT, sha256 TEXT, path TEXT, exit INTEGER
   )`,
  // Searches of a person's own turn that found nothing that fits.
  `CREATE TABLE IF NOT EXISTS skill_stats__searches (
     seq INTEGER PRIMARY KEY AUTOINCREMENT, turn TEXT NOT NULL, thread TEXT NOT NULL, agent TEXT NOT NULL, at INTEGER NOT NULL, query TEXT NOT NULL
   )`,
  `CREATE INDEX IF NOT EXISTS skill_stats__uses_of_thread ON skill_stats__uses (thread, skill, seq)`,
  `CREATE INDEX IF NOT EXISTS skill_stats__uses_of_skill ON skill_stats__uses (skill, seq)`,
] as const;

const ADDED = [
  'ALTER TABLE skill_stats__turns ADD COLUMN ended TEXT',
  'ALTER TABLE skill_stats__turns ADD COLUMN calls INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE skill_stats__turns ADD COLUMN failed INTEGER NOT NULL DEFAULT 0',
  `UPDATE skill_stats__ledger SET version = ${VERSION}`,
] as const;

/** With the time from which the next pruning counts. */
const FIRST_ROW = `INSERT INTO skill_stats__ledger SELECT ${VERSION}, ? WHERE NOT EXISTS (SELECT 1 FROM skill_stats__ledger)`;
const INSERT_TURN = `INSERT OR IGNORE INTO skill_stats__turns (id, thread, agent, at, readable, offered, shown) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const INSERT_USE = `INSERT INTO skill_stats__uses (turn, thread, agent, skill, at, state, how, sha256, path, exit)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const INSERT_SEARCH = `INSERT INTO skill_stats__searches (turn, thread, agent, at, query) VALUES (?, ?, ?, ?, ?)`;
const UPDATE_TURN = `UPDATE skill_stats__turns SET ended = ?, calls = calls + ?, failed = failed + ? WHERE id = ?`;
const LAST_LOAD = `SELECT agent FROM skill_stats__uses WHERE thread = ? AND skill = ? AND sha256 = ? AND state = 'loaded'
  AND how NOT IN ('uses_skills', 'run_skill') ORDER BY seq DESC LIMIT 1`;

const DAY_MS = 86_400_000;
/** The most rows deleted at once, so that no commit is long. */
const AT_ONCE = 2000;
const MOST = { turns: 200_000, uses: 400_000, searches: 10_000 } as const;

/** Once a day, in whichever process comes first: deletes rows that are too old or too many. */
async function prune({ database, clock, keepDays }: LedgerOptions): Promise<void> {
  const now = clock.now();
  const pruned = Number((await database.get('SELECT pruned FROM skill_stats__ledger'))?.['pruned'] ?? now);
  if (now >= pruned && now < pruned + DAY_MS) return;
  await database.write([{ sql: 'UPDATE skill_stats__ledger SET pruned = ?', values: [now] }]);
  for (const [name, most] of Object.entries(MOST)) {
    const table = `skill_stats__${name}`;
    const newest = Number((await database.get(`SELECT max(seq) AS seq FROM ${table}`))?.['seq'] ?? 0);
    const old = `SELECT seq FROM (SELECT seq, at FROM ${table} ORDER BY seq LIMIT ${AT_ONCE}) WHERE at < ? OR seq <= ?`;
    const oldest = { sql: `DELETE FROM ${table} WHERE seq IN (${old})`, values: [now - keepDays * DAY_MS, newest - most] };
    while ((await database.write([oldest]))[0] === AT_ONCE);
  }
}
