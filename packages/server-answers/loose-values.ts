import { printableLine } from '@pith/plain-text';

// Readers of servers' answers, in which anything may be absent, null or of another type.

/** A single value counts as a list of one. */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

/** Numbers count as text; any other type as empty. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : '';
}

export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Why a text cannot be sent in a header, without quoting it; null: it can. A key has no blanks, which come along when it is copied. */
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
