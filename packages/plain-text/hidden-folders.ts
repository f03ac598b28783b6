/** Where a program and its files are. */
interface MachineFolders {
  readonly sandbox: string;
  /** Of the project, where another is used because nobody trusted it. */
  readonly untrustedSandbox?: string | null;
  readonly project: string | null;
  readonly home: string | null;
  readonly shippedSandbox: string;
  readonly data: string;
}

/**
 * Shows folders of this machine by their names in place of their paths, in a text or in all texts of plain data: whoever asks from elsewhere
 * is not told where they are. The longest is looked for first, as one may be within another.
 */
export function hiddenFolders({
  sandbox,
  untrustedSandbox = null,
  project,
  home,
  shippedSandbox,
  data,
}: MachineFolders): <T>(shown: T) => T {
  const isOfSandbox = sandbox.length > 1 && data.startsWith(sandbox) && SEPARATOR.test(data.charAt(sandbox.length));
  const folders = [
    ['data', isOfSandbox ? null : data],
    ['sandbox', sandbox],
    ['sandbox', untrustedSandbox],
    ['project', project ?? (untrustedSandbox === null ? null : above(untrustedSandbox))],
    ['home', home],
    ['shipped sandbox', shippedSandbox],
    ['Pith itself', above(shippedSandbox)],
  ] as const;
  const known = folders.flatMap(([name, folder]) => (folder === null || folder.length <= 1 ? [] : [[name, folder] as const]));
  const longestFirst = known.toSorted(([, a], [, b]) => b.length - a.length);
  const names = new Map(longestFirst.map(([name, folder]) => [folder, name]));
  const escaped = longestFirst.map(([, folder]) => folder.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, '\\$&'));
  // `/home/ann` is not a part of `/home/anna`, nor `/app` one of `https://here/app`.
  const pattern = new RegExp(`(?<![\\w.-])(?:${escaped.join('|')})(?![\\w-]|\\.\\w)`, 'gu');
  const hidden = (text: string): string =>
    longestFirst.some(([, folder]) => text.includes(folder)) ? text.replace(pattern, (folder) => names.get(folder) ?? folder) : text;
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return hidden(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [hidden(key), walk(each)]));
  };
  return (shown) => walk(shown) as typeof shown;
}

const SEPARATOR = /[\\/]/u;

function above(folder: string): string {
  return folder.replace(/[\\/][^\\/]*$/u, '');
}
