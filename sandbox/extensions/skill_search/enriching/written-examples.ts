import type { Clock, ExtensionContext } from 'pith';
import type { RankerDocument } from 'pith/skill_registry';
import { sha256 } from '@pith/plain-data';

type Database = ExtensionContext['database'];

const NONE: readonly string[] = [];
/** The most skills with requests; the oldest are dropped beyond it. */
const MOST = 20_000;

const TABLE = [
  `CREATE TABLE IF NOT EXISTS skill_search__written (
  digest TEXT PRIMARY KEY, skill TEXT NOT NULL, texts TEXT NOT NULL, at INTEGER NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS skill_search__written_at ON skill_search__written (at)',
];

/** A digest of a skill's searched text: written requests are used as long as it is the same. */
export function digestOf({ id, name, description, tags, examples, whenToUse, body }: RankerDocument): string {
  return sha256(JSON.stringify([id, name, description, tags, examples, whenToUse, body]));
}

/** Requests that a model wrote for skills, in one table, read again when another process has changed it. */
export class WrittenExamples {
  private readonly database: Database;
  private readonly clock: Clock;
  private isMade = false;
  private texts: ReadonlyMap<string, readonly string[]> = new Map();
  /** The version of the table when it was read. */
  private version = '';

  constructor({ database, clock }: { readonly database: Database; readonly clock: Clock }) {
    this.database = database;
    this.clock = clock;
  }

  /** The requests for a skill with this digest. */
  of(digest: string): readonly string[] {
    return this.texts.get(digest) ?? NONE;
  }

  /** Reads new rows, also those of other processes; returns the present version. */
  async look(): Promise<string> {
    if (!(await this.isThere())) return this.version;
    const now = await this.database.get('SELECT max(at) AS last FROM skill_search__written');
    const version = String(now?.['last']);
    if (version === this.version) return version;
    const rows = await this.database.all('SELECT digest, texts FROM skill_search__written');
    this.texts = new Map(rows.map(({ digest, texts }) => [String(digest), JSON.parse(String(texts)) as string[]]));
    this.version = version;
    return version;
  }

  /** Replaces what was written for the skill before; visible at the next look. */
  async keep(document: RankerDocument, texts: readonly string[]): Promise<void> {
    await this.replace(document.id, [{ digest: digestOf(document), texts }]);
  }

  /** The number of stored requests of one skill, or of each. */
  async counts(skillId: string | null): Promise<ReadonlyMap<string, number>> {
    if (!(await this.isThere())) return new Map();
    const rows = await this.database.all("SELECT skill, texts FROM skill_search__written WHERE texts <> '[]' ORDER BY skill");
    const counted = rows.map(({ skill, texts }) => [String(skill), (JSON.parse(String(texts)) as string[]).length] as const);
    return new Map(counted.filter(([id]) => skillId === null || id === skillId));
  }

  /** Removes the requests of one skill, or of all; returns how many of which. */
  async forget(skillId: string | null): Promise<ReadonlyMap<string, number>> {
    const gone = await this.counts(skillId);
    for (const id of gone.keys()) await this.replace(id, []);
    return gone;
  }

  /** Each change ends with a row that is newer than all others, by which every process sees that something changed. */
  private async replace(skillId: string, rows: readonly { readonly digest: string; readonly texts: readonly string[] }[]): Promise<void> {
    if (!(await this.isThere())) await this.database.write(TABLE.map((sql) => ({ sql })));
    const last = await this.database.get('SELECT max(at) AS last FROM skill_search__written');
    const at = Math.max(this.clock.now(), Number(last?.['last'] ?? 0) + 1);
    const kept = rows.length > 0 ? rows : [{ digest: skillId, texts: NONE }]; // no digest: a row that only marks the time
    await this.database.write([
      { sql: 'DELETE FROM skill_search__written WHERE skill = ?', values: [skillId] },
      ...kept.map(({ digest, texts }) => ({
        sql: 'INSERT OR REPLACE INTO skill_search__written (digest, skill, texts, at) VALUES (?, ?, ?, ?)',
        values: [digest, skillId, JSON.stringify(texts), at],
      })),
      {
        sql: `DELETE FROM skill_search__written WHERE digest IN (SELECT digest FROM skill_search__written ORDER BY at DESC LIMIT -1 OFFSET ${MOST})`,
      },
    ]);
  }

  /** A mere search must not write. */
  private async isThere(): Promise<boolean> {
    this.isMade ||= (await this.database.get("SELECT 1 FROM sqlite_master WHERE name = 'skill_search__written'")) !== null;
    return this.isMade;
  }
}
