import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { messageOf, PithError } from '../../contract/index.ts';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { isPlainMap } from './plain-data.ts';
import { USUAL } from './recipients.ts';

export interface StoredSecret {
  readonly value: string;
  /** Whom a person gave it for, as `recipientOf` writes them. */
  readonly for: readonly string[];
}

/** Secrets that a person gave, by name: `secrets.json` in `~/.pith`, which nobody else may read. The environment wins over it. */
export interface SecretsFile {
  readonly file: string;
  /** null when it is not there. */
  get(name: string): StoredSecret | null;
  /** All of them. */
  all(): Readonly<Record<string, StoredSecret>>;
  /** Durable when it returns. null takes it out. Throws `settings_invalid` when the file cannot be read or written. */
  set(name: string, secret: StoredSecret | null): void;
}

export function openSecretsFile(home: string): SecretsFile {
  const place = path.join(home, '.pith');
  const folder = stateFolder(existsSync(place) ? realpathSync(place) : place); // a person may keep it elsewhere, by a link
  const file = path.join(folder.path, FILE);
  let known: { readonly stamp: string; readonly values: Readonly<Record<string, StoredSecret>> } = { stamp: '', values: {} };
  /** Read again when it has changed: another process may have written it. */
  const read = (): Readonly<Record<string, StoredSecret>> => {
    const stamp = folder.stamp(FILE);
    if (stamp !== known.stamp) known = { stamp, values: parse(folder) };
    return known.values;
  };
  const readable = (): Readonly<Record<string, StoredSecret>> => {
    try {
      return read();
    } catch {
      return {}; // whoever sets one is told why
    }
  };
  return {
    file,
    get: (name) => Object.entries(readable()).find(([known]) => known === name)?.[1] ?? null,
    all: readable,
    set(name, secret) {
      try {
        const { [name]: _, ...rest } = read();
        folder.writeNow(FILE, `${JSON.stringify(secret === null ? rest : { ...rest, [name]: secret }, null, 2)}\n`);
      } catch (error) {
        throw new PithError('settings_invalid', `the secrets cannot be kept: ${messageOf(error)}`, {
          where: file,
          cure: existsSync(file) ? 'repair the file, or move it away' : 'make the folder writable',
        });
      }
    },
  };
}

const FILE = 'secrets.json';

/** The reason never quotes the text. */
function parse(folder: StateFolder): Readonly<Record<string, StoredSecret>> {
  const text = folder.read(FILE);
  if (text === null) return {};
  let read: unknown;
  try {
    read = JSON.parse(String(text));
  } catch (error) {
    throw new Error('it is not JSON', { cause: error });
  }
  if (!isPlainMap(read)) throw new Error('it is not a map of names');
  return Object.fromEntries(
    Object.entries(read).flatMap(([name, given]) => {
      const secret = secretOf(given);
      return secret === null ? [] : [[name, secret]];
    }),
  );
}

/** A text alone is from before secrets had recipients. null: nothing that was ever written here. */
function secretOf(given: unknown): StoredSecret | null {
  if (typeof given === 'string') return { value: given, for: [USUAL] };
  if (!isPlainMap(given) || typeof given['value'] !== 'string') return null;
  const recipients: unknown = given['for'];
  return { value: given['value'], for: Array.isArray(recipients) ? recipients.filter((one) => typeof one === 'string') : [] };
}
