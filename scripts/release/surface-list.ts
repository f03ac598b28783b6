// A list of what people use of the package, as a difference to the latest release: its lines begin with a space for what was released and
// is there, with `+` for what is new, and with `-` for what is gone. Each line is `NAME` or `NAME: TEXT`.
import semver from 'semver';

export interface SurfaceList {
  /** The version that the lines without `+` were released with. */
  readonly released: string;
  /** Each with its mark. */
  readonly lines: readonly string[];
}

const HEAD = /^# What (\S+) holds/;

export function parseList(text: string): SurfaceList {
  const [head = '', ...lines] = text.trimEnd().split('\n');
  return { released: HEAD.exec(head)?.[1] ?? '', lines };
}

export function printList({ released, lines }: SurfaceList): string {
  return `# What ${released} holds, and what is new (+) or gone (-) since; written by: npm run surface:update\n${lines.join('\n')}\n`;
}

/** The list when `now` is there. */
export function updatedList(list: SurfaceList, now: readonly string[]): SurfaceList {
  const there = new Set(now);
  const released = new Set(list.lines.filter((line) => !line.startsWith('+')).map(textOf));
  const lines = [...new Set([...released, ...there])].toSorted();
  return { ...list, lines: lines.map((text) => `${!there.has(text) ? '-' : released.has(text) ? ' ' : '+'}${text}`) };
}

/** The list of a release. */
export function releasedList(version: string, now: readonly string[]): SurfaceList {
  return { released: version, lines: now.toSorted().map((text) => ` ${text}`) };
}

/** Names of the release: `gone` has those with fewer lines than it had, such as an overload less, without those within others. */
function changesSince({ lines }: SurfaceList): { readonly gone: readonly string[]; readonly changed: readonly string[] } {
  const names = new Set(lines.filter((line) => line.startsWith('-')).map(nameOf));
  const count = (name: string, mark: string) => lines.filter((line) => !line.startsWith(mark) && nameOf(line) === name).length;
  const gone = new Set([...names].filter((name) => count(name, '-') < count(name, '+')));
  const changed = [...names].filter((name) => !gone.has(name));
  return { gone: [...gone].filter((name) => !gone.has(name.slice(0, name.lastIndexOf('.')))), changed };
}

export interface Release {
  readonly version: string;
  /** What it says of the versions after the released one. */
  readonly changelog: string;
}

/** Why the list cannot stay as it is, with the cure. */
export function listProblems(list: SurfaceList, now: readonly string[], { version, changelog }: Release): readonly string[] {
  const updated = updatedList(list, now);
  const listed = new Set(list.lines);
  const added = updated.lines.filter((line) => !listed.has(line));
  const stale = added.map((line) => `${words(line)}, and the list does not say so; if that is meant, run: npm run surface:update`);
  if (stale.length === 0 && updated.lines.length !== list.lines.length)
    stale.push('the list has lines too many; run: npm run surface:update');
  const { gone, changed } = changesSince(updated);
  const needed = nextAfterRemoval(list.released);
  const early = semver.lt(version, needed) ? gone : [];
  const unnamed = (names: readonly string[], what: string, heading: string) =>
    names
      .filter((name) => !changelog.includes(namedAs(name)))
      .map(
        (name) =>
          `CHANGELOG.md does not have ${namedAs(name)}, which is ${what} since ${list.released}; add it under '${heading}' of what is unreleased`,
      );
  return [
    ...stale,
    ...early.map(
      (name) => `'${name}' is gone since ${list.released}: a removal needs version ${needed} in package.json, which has ${version}`,
    ),
    ...unnamed(gone, 'gone', 'Removed'),
    ...unnamed(changed, 'changed', 'Changed'),
  ];
}

/** As the changelog has it: in backquotes, without its entry and the parentheses of a type that is not exported. */
function namedAs(name: string): string {
  return `\`${name.replace(/^\S+ /, '').replace(/^\((\w+)\)/, '$1')}\``;
}

/** Before 1.0 a removal needs a new minor version, else a new major one. */
function nextAfterRemoval(released: string): string {
  return semver.inc(released, semver.major(released) === 0 ? 'minor' : 'major')!;
}

const textOf = (line: string): string => line.slice(1);
const nameOf = (line: string): string => textOf(line).split(': ')[0]!;

function words(line: string): string {
  const what = { '+': 'is new', '-': 'is gone' }[line[0]!] ?? 'is back';
  return `'${textOf(line)}' ${what}`;
}
