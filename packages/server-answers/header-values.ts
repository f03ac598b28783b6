/** Why a text cannot be sent in a header, without the text; null: it can. No key has blanks, as those have that came along when it was copied. */
export function headerProblem(value: string, isKey = true): string | null {
  const first = isKey ? '!' : ' ';
  const at = [...value].findIndex((character) => character < first || character > '~');
  if (at < 0) return null;
  const character = [...value][at] ?? '';
  const what = WHAT.find(([pattern]) => pattern.test(character))?.[1] ?? 'a letter that no key has';
  return `its character ${at + 1} is ${what}`;
}

const WHAT: readonly (readonly [RegExp, string])[] = [
  [/[\r\n]/, 'the end of a line'],
  [/[\s\u200b\u2060\ufeff]/u, 'a blank'],
  [/[\p{Cc}\p{Cf}]/u, 'one that nobody sees'],
  [/\p{L}/u, 'a letter of another script'],
];
