import type { Cache, CommandContext } from 'pith';
import type { CountedDocument, SearchDocument } from './ranker.ts';
import { encodeRecord } from './record.ts';
import { ftsTexts } from './full-text.ts';
import { isOutdated } from './document.ts';

/** A body that has been read, and what was counted in it. */
export interface Indexed {
  readonly document: SearchDocument;
  readonly counted: CountedDocument;
}

/** The one row of a skill, as it was when somebody looked. */
export interface StoredRow {
  readonly n: number;
  readonly id: string;
  readonly version: string;
  readonly record: Uint8Array;
}

/** Raise it whenever what counts as a term, or a record, changes. */
const VERSION = 2;
const SCHEMA = [
  'CREATE TABLE skills (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version TEXT NOT NULL, record BLOB NOT NULL)',
  'CREATE TABLE terms (n INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE)',
  // How many skills were written again or removed: what they left in `terms` and `words` goes with the file.
  'CREATE TABLE wear (rewritten INTEGER NOT NULL)',
  'INSERT INTO wear VALUES (0)',
  // Of the texts themselves nothing is kept. `bm25` needs the places of words, so that `detail` stays full.
  "CREATE VIRTUAL TABLE words USING fts5(name, tags, description, body, content='', contentless_delete=1, tokenize='porter unicode61')",
];
/** The spec's weights, in the order of the columns: name, tags, description, body. */
const BEST = `SELECT json_group_array(id) AS ids FROM (SELECT s.id AS id FROM
  (SELECT rowid AS n, bm25(words, 6, 4, 3, 1) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT ?) w JOIN skills s USING (n) ORDER BY w.score)`;
/** A row for each skill takes three times as long to fetch, most of it for a buffer each. */
const ROWS = `SELECT json_group_array(json_array(n, id, version, length(record))) AS heads, CAST(group_concat(CAST(record AS TEXT), '') AS BLOB) AS records
  FROM (SELECT n, id, version, record FROM skills WHERE n > ? ORDER BY n LIMIT ?)`;
const ADD_WORDS = 'INSERT INTO words (rowid, name, tags, description, body) VALUES (?, ?, ?, ?, ?)';
const WEAR = 'UPDATE wear SET rewritten = rewritten + 1';
const ROWS_AT_ONCE = 100;
const TERMS_AT_ONCE = 4000;
const REMEMBERED = 50_000;

/** `catalog.db`: of each skill whose body was read, the counts of its terms, and its words in a full-text index. Throws `database_failed`. */
export class CatalogDb {
  readonly #cache: Cache;
  /** Numbers of terms, which never change. */
  readonly #numbers = new Map<string, number>();

  /** One that is worn, in which most may be words that no skill has any more, is made anew. */
  static async open(context: Pick<CommandContext, 'openCache'>): Promise<CatalogDb> {
    const cache = await context.openCache('catalog', { version: VERSION, schema: SCHEMA });
    if (!isWorn(cache)) return new CatalogDb(cache);
    cache.spoil();
    await cache.close();
    return new CatalogDb(await context.openCache('catalog', { version: VERSION, schema: SCHEMA }));
  }

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  get file(): string {
    return this.#cache.file;
  }

  count(): number {
    return Number(this.#cache.get('SELECT count(*) AS count FROM skills')!.count);
  }

  versions(): ReadonlyMap<string, string> {
    return new Map(this.#cache.all('SELECT id, version FROM skills').map(({ id, version }) => [String(id), String(version)]));
  }

  /** All rows in pieces, between which others may write. */
  *rows(): Generator<readonly StoredRow[]> {
    for (let last = 0, piece: StoredRow[] = []; last === 0 || piece.length === ROWS_AT_ONCE; last = piece.at(-1)?.n ?? 1) {
      piece = this.#rowsAfter(last);
      yield piece;
    }
  }

  /** All terms in the order of their numbers, from 1. */
  *terms(): Generator<readonly string[]> {
    const sql =
      'SELECT group_concat(term, char(10)) AS terms, max(n) AS highest FROM (SELECT n, term FROM terms WHERE n > ? ORDER BY n LIMIT ?)';
    for (let last = 0; ;) {
      const { terms, highest } = this.#cache.get(sql, last, TERMS_AT_ONCE)!;
      if (terms === null) return;
      const piece = String(terms).split('\n');
      last += piece.length;
      if (last !== highest) throw new Error('terms are missing between those that it has');
      yield piece;
    }
  }

  /** False where another process is writing. What another process knows better stays. */
  async write(put: readonly Indexed[], removed: ReadonlyMap<string, string>): Promise<boolean> {
    try {
      const written = await this.#cache.write((statement) => {
        for (const [id, version] of removed) this.#remove(statement, id, version);
        let last = Number(this.#cache.get('SELECT coalesce(max(n), 0) AS n FROM terms')!.n);
        const numberOf = (term: string): number => this.#numberOf(term) ?? this.#remember(term, addTerm(statement, term, ++last));
        const rows = put.map((one) => ({ n: this.#put(statement, one.counted, numberOf), document: one.document }));
        // Last: statements that may have to be undone alone, as some above, let FTS5 write what it has so far.
        for (const { n, document } of rows) if (n !== null) statement(ADD_WORDS, n, ...ftsTexts(document));
      });
      if (!written) this.#numbers.clear(); // those that were given out are not
      return written;
    } catch (error) {
      this.#numbers.clear();
      throw error;
    }
  }

  /** The ids of the best by FTS5's own `bm25`, the best first. */
  best(match: string, limit: number): readonly string[] {
    return JSON.parse(String(this.#cache.get(BEST, match, limit)!.ids)) as string[];
  }

  /** How many skills match. */
  holding(match: string): number {
    return Number(this.#cache.get('SELECT count(*) AS count FROM words WHERE words MATCH ?', match)!.count);
  }

  beginningWith(prefix: string, limit: number): readonly string[] {
    const found = this.#cache.all(
      'SELECT id FROM skills WHERE id >= ? AND id < ? ORDER BY id LIMIT ?',
      prefix,
      `${prefix}\u{10ffff}`,
      limit,
    );
    return found.map(({ id }) => String(id));
  }

  records(ids: readonly string[]): readonly StoredRow[] {
    const sql = 'SELECT n, id, version, record FROM skills WHERE id IN (SELECT value FROM json_each(?))';
    return this.#cache.all(sql, JSON.stringify(ids)) as unknown as StoredRow[];
  }

  /** null where no skill has it. */
  numberOf(term: string): number | null {
    return this.#numberOf(term);
  }

  termsBeginningWith(prefix: string, limit: number): readonly string[] {
    const found = this.#cache.all(
      'SELECT term FROM terms WHERE term >= ? AND term < ? ORDER BY n LIMIT ?',
      prefix,
      `${prefix}\u{10ffff}`,
      limit,
    );
    return found.map(({ term }) => String(term));
  }

  /** It makes no sense, and goes when it is closed. */
  spoil(): void {
    this.#cache.spoil();
  }

  close(): Promise<void> {
    return this.#cache.close();
  }

  #rowsAfter(n: number): StoredRow[] {
    const { heads, records } = this.#cache.get(ROWS, n, ROWS_AT_ONCE)!;
    let end = 0;
    return (JSON.parse(String(heads)) as [n: number, id: string, version: string, length: number][]).map(
      ([number, id, version, length]) => {
        const record = (records as Uint8Array).subarray(end, (end += length));
        return { n: number, id, version, record };
      },
    );
  }

  #numberOf(term: string): number | null {
    const known = this.#numbers.get(term);
    if (known !== undefined) return known;
    const row = this.#cache.get('SELECT n FROM terms WHERE term = ?', term);
    return row === null ? null : this.#remember(term, Number(row.n));
  }

  #remember(term: string, number: number): number {
    if (this.#numbers.size >= REMEMBERED) this.#numbers.clear();
    this.#numbers.set(term, number);
    return number;
  }

  /** The number of its row; null where what is there is not older. */
  #put(statement: Statement, counted: CountedDocument, numberOf: (term: string) => number): number | null {
    const { id, version } = counted;
    const before = this.#cache.get('SELECT n, version FROM skills WHERE id = ?', id);
    if (before !== null && (before.version === version || isOutdated(version, String(before.version)))) return null;
    const record = encodeRecord(counted, numberOf);
    if (before === null) {
      const n = Number(this.#cache.get('SELECT coalesce(max(n), 0) + 1 AS n FROM skills')!.n);
      statement('INSERT INTO skills VALUES (?, ?, ?, ?)', n, id, version, record);
      return n;
    }
    statement('DELETE FROM words WHERE rowid = ?', before.n!);
    statement(WEAR);
    statement('UPDATE skills SET version = ?, record = ? WHERE n = ?', version, record, before.n!);
    return Number(before.n);
  }

  #remove(statement: Statement, id: string, version: string): void {
    const row = this.#cache.get('SELECT n FROM skills WHERE id = ? AND version = ?', id, version);
    if (row === null) return; // somebody else knows it in another version
    statement('DELETE FROM words WHERE rowid = ?', row.n!);
    statement('DELETE FROM skills WHERE n = ?', row.n!);
    statement(WEAR);
  }
}

/** After so many changes it is worn, however few skills it has. */
const LEAST_WEAR = 1000;
const MOST_REWRITTEN = 2;

function isWorn(cache: Cache): boolean {
  try {
    const { rewritten, skills } = cache.get('SELECT rewritten, (SELECT count(*) FROM skills) AS skills FROM wear')!;
    return Number(rewritten) > Math.max(LEAST_WEAR, MOST_REWRITTEN * Number(skills));
  } catch {
    return false; // busy, or damaged: who reads it is told
  }
}

type Statement = Parameters<Parameters<Cache['write']>[0]>[0];

function addTerm(statement: Statement, term: string, number: number): number {
  statement('INSERT INTO terms VALUES (?, ?)', number, term);
  return number;
}
