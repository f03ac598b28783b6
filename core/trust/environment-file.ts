import path from 'node:path';
import { printable } from '@pith/plain-text';
import { stateFolder } from '@pith/safe-files';

/** The `.env` of a trusted project, read for secrets only. */
export interface EnvironmentFile {
  /** null when the variable is absent or empty, or is a server's address: a project's file never decides where a secret goes. */
  get(name: string): string | null;
  /** Another one after each change of the file. */
  version(): string;
}

const MOST_BYTES = 64 * 1024;

/** Read again after a change. A link, a special file, another user's file or a file that is too long counts as absent. */
export function openEnvironmentFile(file: string): EnvironmentFile {
  const folder = stateFolder(path.dirname(file));
  const name = path.basename(file);
  let known: { readonly stamp: string; readonly values: ReadonlyMap<string, string> } = { stamp: '', values: new Map() };
  const values = (): ReadonlyMap<string, string> => {
    try {
      const stamp = folder.stamp(name);
      if (stamp !== known.stamp) known = { stamp, values: parse(folder.read(name, MOST_BYTES)) };
      return known.values;
    } catch {
      return new Map(); // it cannot be read safely, so nothing is read from it
    }
  };
  return {
    version() {
      try {
        return folder.stamp(name);
      } catch {
        return ''; // it cannot be read safely, so nothing is read from it
      }
    },
    get(asked) {
      const value = values().get(asked) ?? '';
      return value === '' || isAddress(asked, value) ? null : value;
    },
  };
}

const NAME = /^(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)$/u;

/** One `NAME=value` a line, the value plain or in quotes. `$NAME` is not expanded, and other lines are ignored. */
function parse(bytes: Uint8Array | null): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const text = new TextDecoder().decode(bytes ?? new Uint8Array()); // removes a byte order mark
  for (const line of text.split(/\r\n|\n|\r/u)) {
    const [, name, given = ''] = NAME.exec(line.trim()) ?? [];
    if (name === undefined) continue;
    const value = valueOf(given);
    if (value !== null && printable(value) === value) found.set(name, value); // a value with invisible characters is not a key
  }
  return found;
}

/** null: a quote that is not closed on its line. */
function valueOf(given: string): string | null {
  const quote = given[0];
  if (quote !== '"' && quote !== "'" && quote !== '`') return given.replace(/(?:^|[ \t]+)#.*$/u, '').trim();
  const end = given.indexOf(quote, 1);
  if (end < 0 || !/^[ \t]*(?:#.*)?$/u.test(given.slice(end + 1))) return null;
  const inside = given.slice(1, end);
  return quote === '"' ? inside.replaceAll(/\\([nt])/gu, (_, letter: string) => (letter === 'n' ? '\n' : '\t')) : inside;
}

function isAddress(name: string, value: string): boolean {
  return /_(?:URL|URI|BASE|ENDPOINT|HOST|HOSTNAME|ORIGIN|ADDRESS|PROXY)$/iu.test(name) || /^[a-z][a-z0-9+.-]*:\/\//iu.test(value);
}
