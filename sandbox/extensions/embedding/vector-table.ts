import type { ExtensionContext } from 'pith';
import { oncePromised } from '@pith/promises';

const TABLE = 'CREATE TABLE IF NOT EXISTS embedding__vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID';
/** How many unused vectors are kept, for a model that comes back. */
const MOST_UNUSED = 5000;
const AT_ONCE = 500;

/** Vectors by the digest of model and text, so that each text is requested once. */
export class VectorTable {
  private readonly make = oncePromised(() => this.database.write([{ sql: TABLE }]));

  constructor(private readonly database: ExtensionContext['database']) {}

  async get(keys: readonly string[]): Promise<Map<string, Float32Array>> {
    await this.make();
    const marks = keys.map(() => '?').join(', ');
    const rows =
      keys.length === 0 ? [] : await this.database.all(`SELECT key, vector FROM embedding__vectors WHERE key IN (${marks})`, ...keys);
    return new Map(rows.map(({ key, vector }) => [String(key), vectorOf(vector as Uint8Array)]));
  }

  async put(vectors: ReadonlyMap<string, Float32Array>): Promise<void> {
    await this.make();
    await this.database.write(
      [...vectors].map(([key, vector]) => ({
        sql: 'INSERT OR REPLACE INTO embedding__vectors (key, vector) VALUES (?, ?)',
        values: [key, new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)],
      })),
    );
  }

  /** Removes other vectors where there are many more than these keys. */
  async keepOnly(keys: readonly string[]): Promise<void> {
    await this.make();
    const row = await this.database.get('SELECT count(*) AS count FROM embedding__vectors');
    if (Number(row?.['count']) <= keys.length + MOST_UNUSED) return;
    const used = new Set(keys);
    const all = await this.database.all('SELECT key FROM embedding__vectors');
    const unused = all.map(({ key }) => String(key)).filter((key) => !used.has(key));
    for (let from = 0; from < unused.length; from += AT_ONCE) {
      const some = unused.slice(from, from + AT_ONCE);
      const sql = `DELETE FROM embedding__vectors WHERE key IN (${some.map(() => '?').join(', ')})`;
      await this.database.write([{ sql, values: some }]);
    }
  }
}

/** A copy, since a row may not be aligned for a Float32Array. */
function vectorOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.slice().buffer);
}
