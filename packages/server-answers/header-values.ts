import { printableLine } from '@pith/plain-text';

/** Why a text cannot be sent in a header, without the text; null: it can. No key has blanks, as those have that came along when it was copied. */
export function headerProblem(value: string, isKey = true): string | null {
  const first = isKey ? '!' : ' ';
  const at = [...value].findIndex((character) => character < first || character > '~');
  if (at < 0) return null;
  const character = [...value][at] ?? '';
  return `its character ${at + 1} is ${whatIs(character)}`;
}

function whatIs(character: string): string {
  if (/[\r\n]/.test(character)) return 'the end of a line';
  if (/\s/.test(character)) return 'a blank';
  if (printableLine(character) !== character) return 'one that nobody sees';
  return /\p{L}/u.test(character) ? 'a letter of another script' : 'a sign that no key contains';
}
