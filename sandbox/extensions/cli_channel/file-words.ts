import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** A word of a message that names a file, or may name one. */
export interface FileWord {
  /** As it was written, without quotes and escapes. */
  readonly name: string;
  /** Where it is, from the folder or the root. */
  readonly path: string;
  /** `@` comes before it. Without, it is a whole path that was dropped, pasted or typed, and may be just a word. */
  readonly isMention: boolean;
}

/** Where a word begins: a text in quotes, or what a shell would take for one word. */
const WORD = /(?<=^|\s)[([{]*(@?)(?:"([^"\n]+)"|'((?:[^'\n]|'\\'')+)'|((?:\\[^\n]|[^\s\\])+))/gu;
const WINDOWS = /^([A-Za-z]):\\/u;

/** The words that name files, each once and in their order. */
export function fileWords(text: string): readonly FileWord[] {
  const found = new Map<string, FileWord>();
  for (const [, at = '', double, single, plain = ''] of text.matchAll(WORD)) {
    const inside = double ?? single?.replaceAll(`'\\''`, "'");
    const bare = plain.replace(/^["']+/u, ''); // a quote that never ends
    const word = inside ?? (WINDOWS.test(bare) ? bare : bare.replaceAll(/\\([^\n])/gu, '$1'));
    const isMention = at === '@' || word.startsWith('@');
    const name = at === '' && isMention ? word.slice(1) : word;
    const where = name === '' ? null : placeOf(name);
    if (where === null || !(isMention || path.isAbsolute(where))) continue;
    if (!found.has(name)) found.set(name, { name, path: where, isMention });
  }
  return [...found.values()];
}

/** null: an address that names no file here. */
function placeOf(name: string): string | null {
  if (/^file:/iu.test(name)) {
    try {
      return fileURLToPath(name);
    } catch {
      return null; // a file of another machine
    }
  }
  if (name === '~' || name.startsWith('~/')) return path.join(os.homedir(), name.slice(1));
  const [drive, letter = ''] = WINDOWS.exec(name) ?? [];
  if (drive !== undefined && path.sep === '/') return `/mnt/${letter.toLowerCase()}/${name.slice(drive.length).replaceAll('\\', '/')}`; // as WSL has it
  return name;
}
