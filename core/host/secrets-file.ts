import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { messageOf, PithError } from '../contract/errors.ts';
import { writeFileAtomically } from './atomic-file.ts';
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
  const file = path.join(home, '.pith', 'secrets.json');
  let known: { readonly stamp: string; readonly values: Readonly<Record<string, string>> } = { stamp: '', values: {} };
  /** Read again when it has changed: another process may have written it. */
  const read = (): Readonly<Record<string, string>> => {
    const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
    const stamp = stat === undefined ? '' : `${stat.mtimeNs} ${stat.ino} ${stat.size}`;
    if (stamp !== known.stamp) known = { stamp, values: stat === undefined ? {} : parse(file) };
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
        mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
        writeFileAtomically(file, `${JSON.stringify(value === null ? rest : { ...rest, [name]: value }, null, 2)}\n`, 0o600);
      } catch (error) {
        throw new PithError('settings_invalid', `the secrets cannot be kept: ${messageOf(error)}`, {
          where: file,
          cure: existsSync(file) ? 'mend the file, or move it away' : 'make the folder writable',
        });
      }
    },
  };
}

/** The reason never quotes the text. */
function parse(file: string): Readonly<Record<string, string>> {
  let read: unknown;
  try {
    read = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error((error as NodeJS.ErrnoException).code ?? 'it is not JSON', { cause: error });
  }
  if (!isPlainMap(read)) throw new Error('it is not a map of names');
  return Object.fromEntries(Object.entries(read).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
