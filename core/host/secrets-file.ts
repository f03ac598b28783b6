import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { messageOf, PithError } from '../contract/errors.ts';
import { stateFolder, type StateFolder } from '../contract/state-files.ts';
import { isPlainMap } from './discovery/plain-data.ts';

/** Secrets that a person gave, by name: `secrets.json` in `~/.pith`, which nobody else may read. The environment wins over it. */
export interface SecretsFile {
  readonly file: string;
  /** null when it is not there. */
  get(name: string): string | null;
  /** All of them. */
  all(): Readonly<Record<string, string>>;
  /** Durable when it returns. null takes it out. Throws `settings_invalid` when the file cannot be read or written. */
  set(name: string, value: string | null): void;
}

export function openSecretsFile(home: string): SecretsFile {
  const place = path.join(home, '.pith');
  const folder = stateFolder(existsSync(place) ? realpathSync(place) : place); // a person may keep it elsewhere, by a link
  const file = path.join(folder.path, FILE);
  let known: { readonly stamp: string; readonly values: Readonly<Record<string, string>> } = { stamp: '', values: {} };
  /** Read again when it has changed: another process may have written it. */
  const read = (): Readonly<Record<string, string>> => {
    const stamp = folder.stamp(FILE);
    if (stamp !== known.stamp) known = { stamp, values: parse(folder) };
    return known.values;
  };
  const readable = (): Readonly<Record<string, string>> => {
    try {
      return read();
    } catch {
      return {}; // whoever sets one is told why
    }
  };
  return {
    file,
    get: (name) => readable()[name] ?? null,
    all: readable,
    set(name, value) {
      try {
        const { [name]: _, ...rest } = read();
        folder.writeNow(FILE, `${JSON.stringify(value === null ? rest : { ...rest, [name]: value }, null, 2)}\n`);
      } catch (error) {
        throw new PithError('settings_invalid', `the secrets cannot be kept: ${messageOf(error)}`, {
          where: file,
          cure: existsSync(file) ? 'mend the file, or move it away' : 'make the folder writable',
        });
      }
    },
  };
}

const FILE = 'secrets.json';

/** The reason never quotes the text. */
function parse(folder: StateFolder): Readonly<Record<string, string>> {
  const text = folder.read(FILE);
  if (text === null) return {};
  let read: unknown;
  try {
    read = JSON.parse(String(text));
  } catch (error) {
    throw new Error('it is not JSON', { cause: error });
  }
  if (!isPlainMap(read)) throw new Error('it is not a map of names');
  return Object.fromEntries(Object.entries(read).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
