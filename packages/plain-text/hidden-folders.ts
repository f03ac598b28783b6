/**
 * Shows each of these folders by its name in place of its path, in a text or in all texts of plain data. The longest is looked for first, as
 * one may be within another.
 */
export function hiddenFolders(folders: Readonly<Record<string, string | null>>): <T>(shown: T) => T {
  const known = Object.entries(folders).filter((entry): entry is [string, string] => entry[1] !== null && entry[1].length > 1);
  const longestFirst = known.toSorted(([, a], [, b]) => b.length - a.length);
  const shortest = longestFirst.at(-1)?.[1].length ?? Infinity;
  // `/home/ann` is not a part of `/home/anna`, nor `/app` one of `https://here/app`.
  const patterns = longestFirst.map(
    ([name, folder]) =>
      [name, new RegExp(`(?<![\\w.-])${folder.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, '\\$&')}(?![\\w-]|\\.\\w)`, 'gu')] as const,
  );
  const hidden = (text: string): string =>
    text.length < shortest ? text : patterns.reduce((shown, [name, pattern]) => shown.replace(pattern, () => name), text);
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return hidden(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [hidden(key), walk(each)]));
  };
  return (shown) => walk(shown) as typeof shown;
}
