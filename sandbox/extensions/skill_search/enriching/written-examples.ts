import { createHash } from 'node:crypto';
import type { Clock, ExtensionContext } from 'pith';
import type { RankerDocument } from 'pith/skill_registry';

type Database = ExtensionContext['database'];

const NONE: readonly string[] = [];
/** Nobody asks for so many skills; beyond it the oldest go. */
const MOST = 20_000;

const TABLE = `CREATE TABLE IF NOT EXISTS skill_search__written (
  digest TEXT PRIMARY KEY, skill TEXT NOT NULL, texts TEXT NOT NULL, at INTEGER NOT NULL)`;

/** What a skill says, by which it is found: requests that were written for it count as long as it says this. */
export function digestOf({ id, name, description, tags, examples, whenToUse, body }: RankerDocument): string {
  return createHash('sha256')
    .update(JSON.stringify([id, name, description, tags, examples, whenToUse, body]))
    .digest('hex');
}

/** Requests that a model wrote for skills, in one table, read again when another process has changed it. */
export class WrittenExamples {
  private readonly database: Database;
  private readonly clock: Clock;
  private isMade = false;
  private texts: ReadonlyMap<string, readonly string[]> = new Map();
  /** What the table was when it was read. */
  private version = '';

  constructor({ database, clock }: { readonly database: Database; readonly clock: Clock }) {
    this.database = database;
    this.clock = clock;
  }

  /** For a skill that says what `digestOf` digests; the same array until something changes. */
  of(digest: string): readonly string[] {
    return this.texts.get(digest) ?? NONE;
  }

  /** Takes over what was written; whether anything was. */
  async look(): Promise<boolean> {
    if (!(await this.isThere())) return false;
    const now = await this.database.get('SELECT count(*) AS count, max(at) AS last FROM skill_search__written');
    const version = `${String(now?.['count'])} ${String(now?.['last'])}`;
    if (version === this.version) return false;
    const before = this.texts;
    const rows = await this.database.all('SELECT digest, texts FROM skill_search__written');
    this.texts = new Map(
      rows.map(({ digest, texts }) => {
        const known = before.get(String(digest));
        return [String(digest), known !== undefined && JSON.stringify(known) === texts ? known : (JSON.parse(String(texts)) as string[])];
      }),
    );
    this.version = version;
    return true;
  }

  /** They take the place of what was written for the skill before; the next look sees them. */
  async keep(document: RankerDocument, texts: readonly string[]): Promise<void> {
    if (!(await this.isThere())) await this.database.write([{ sql: TABLE }]);
    const last = await this.database.get('SELECT max(at) AS last FROM skill_search__written');
    const at = Math.max(this.clock.now(), Number(last?.['last'] ?? 0) + 1); // each change makes another version
    await this.database.write([
      { sql: 'DELETE FROM skill_search__written WHERE skill = ?', values: [document.id] },
      {
        sql: 'INSERT OR REPLACE INTO skill_search__written (digest, skill, texts, at) VALUES (?, ?, ?, ?)',
        values: [digestOf(document), document.id, JSON.stringify(texts), at],
      },
      {
        sql: `DELETE FROM skill_search__written WHERE digest IN (SELECT digest FROM skill_search__written ORDER BY at DESC LIMIT -1 OFFSET ${MOST})`,
      },
    ]);
  }

  /** Who only searches writes nothing. */
  private async isThere(): Promise<boolean> {
    this.isMade ||= (await this.database.get("SELECT 1 FROM sqlite_master WHERE name = 'skill_search__written'")) !== null;
    return this.isMade;
  }
}
