import type { JsonValue, KeyValue } from '../contract/index.ts';
import { PithError } from '../contract/errors.ts';
import type { Store } from './store.ts';

const MAX_KEY_BYTES = 512;
const MAX_VALUE_BYTES = 1_048_576;

const SCHEMA = [
  'CREATE TABLE kv (extension TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (extension, key)) WITHOUT ROWID',
];

/** Small JSON values of one extension in the table `kv`. */
export function createKeyValue(store: Store, extensionId: string): KeyValue {
  store.migrate('kv', SCHEMA);
  return {
    async get(key) {
      const row = store.get('SELECT value FROM kv WHERE extension = ? AND key = ?', extensionId, key);
      return row === null ? null : parse(store.file, extensionId, key, String(row.value));
    },
    async set(key, value) {
      checkKey(key);
      const text = textOf(key, value);
      await store.write((statement) => {
        statement(
          'INSERT INTO kv VALUES (?, ?, ?) ON CONFLICT (extension, key) DO UPDATE SET value = excluded.value',
          extensionId,
          key,
          text,
        );
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
