import { type ExtensionContext, type JsonValue, PithError } from '../contract/index.ts';
import { DEFAULT_SETTINGS, type Settings } from '../declarations/index.ts';
import type { Store } from './store.ts';

export type KeyValue = ExtensionContext['kv'];

const MAX_KEY_BYTES = 512;
const MAX_VALUE_BYTES = 1_048_576;

const SCHEMA = [
  'CREATE TABLE kv (extension TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (extension, key)) WITHOUT ROWID',
  // The amount that each extension stores, counted by triggers: counting at each write would take longer and longer.
  `CREATE TABLE kv_use (extension TEXT PRIMARY KEY, keys INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
   INSERT INTO kv_use SELECT extension, count(*), sum(${sizeOf('kv')}) FROM kv GROUP BY extension;
   CREATE TRIGGER kv_added AFTER INSERT ON kv BEGIN
     INSERT INTO kv_use VALUES (new.extension, 1, ${sizeOf('new')})
       ON CONFLICT (extension) DO UPDATE SET keys = keys + 1, bytes = bytes + excluded.bytes;
   END;
   CREATE TRIGGER kv_changed AFTER UPDATE ON kv BEGIN
     UPDATE kv_use SET bytes = bytes + ${sizeOf('new')} - ${sizeOf('old')} WHERE extension = new.extension;
   END;
   CREATE TRIGGER kv_removed AFTER DELETE ON kv BEGIN
     UPDATE kv_use SET keys = keys - 1, bytes = bytes - ${sizeOf('old')} WHERE extension = old.extension;
   END`,
];

function sizeOf(row: string): string {
  return `(length(CAST(${row}.key AS BLOB)) + length(CAST(${row}.value AS BLOB)))`;
}

/** The limits for one extension. */
type KeyValueQuota = Pick<Settings['quotas'], 'keys' | 'key_values_mb'>;

/** Small JSON values of one extension in the table `kv`. A write beyond its quota is `quota_exceeded`. */
export function createKeyValue(store: Store, extensionId: string, quota: KeyValueQuota = DEFAULT_SETTINGS.quotas): KeyValue {
  store.migrate('kv', SCHEMA);
  const use = (): { readonly keys: number; readonly bytes: number } => {
    const row = store.get('SELECT keys, bytes FROM kv_use WHERE extension = ?', extensionId);
    return { keys: Number(row?.['keys'] ?? 0), bytes: Number(row?.['bytes'] ?? 0) };
  };
  return {
    async get(key) {
      const row = store.get('SELECT value FROM kv WHERE extension = ? AND key = ?', extensionId, key);
      return row === null ? null : parse(store.file, extensionId, key, String(row.value));
    },
    async set(key, value) {
      checkKey(key);
      const text = textOf(key, value);
      await store.write((statement) => {
        const before = use();
        statement(
          'INSERT INTO kv VALUES (?, ?, ?) ON CONFLICT (extension, key) DO UPDATE SET value = excluded.value',
          extensionId,
          key,
          text,
        );
        refuseMore(extensionId, quota, before, use());
      });
    },
    async delete(key) {
      let changes = 0;
      await store.write((statement) => {
        ({ changes } = statement('DELETE FROM kv WHERE extension = ? AND key = ?', extensionId, key));
      });
      return changes > 0;
    },
    async keys(prefix = '') {
      const rows = store.all(
        'SELECT key FROM kv WHERE extension = ? AND key >= ? AND substr(key, 1, length(?)) = ? ORDER BY key',
        extensionId,
        prefix,
        prefix,
        prefix,
      );
      return rows.map((row) => String(row.key));
    },
  };
}

/** A smaller value is always accepted, since it leads back below the quota. */
function refuseMore(
  extensionId: string,
  { keys, key_values_mb }: KeyValueQuota,
  before: { readonly keys: number; readonly bytes: number },
  after: { readonly keys: number; readonly bytes: number },
): void {
  const why =
    after.keys > keys && after.keys > before.keys
      ? `${keys} keys (quotas.keys)`
      : after.bytes > key_values_mb * 1024 * 1024 && after.bytes > before.bytes
        ? `${key_values_mb} MB by key (quotas.key_values_mb)`
        : null;
  if (why === null) return;
  throw new PithError('quota_exceeded', `extension '${extensionId}' may keep at most ${why}`, {
    where: extensionId,
    cure: 'delete keys that are not needed, keep the data in a table or a file, or raise the setting',
  });
}

function checkKey(key: string): void {
  if (typeof key !== 'string' || key === '' || Buffer.byteLength(key) > MAX_KEY_BYTES) {
    throw new PithError('parameter_invalid', `a key must be a text of 1 to ${MAX_KEY_BYTES} bytes`);
  }
}

function textOf(key: string, value: JsonValue): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new PithError('parameter_invalid', `the value of '${key}' is not JSON`, { cure: 'use null for none' });
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES) {
    throw new PithError('parameter_invalid', `the value of '${key}' is longer than 1 MiB`, { cure: 'keep it in a table or a file' });
  }
  return text;
}

function parse(file: string, extensionId: string, key: string, text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw new PithError('database_failed', `the value of '${key}' of ${extensionId} in ${file} is not JSON`, {
      cause,
      where: file,
      cure: 'delete or set the key',
    });
  }
}
