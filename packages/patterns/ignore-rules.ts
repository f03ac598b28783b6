import { FOLDERS, matches, segmentOf, type Segment } from './segment.ts';

/** What rules say of a path, relative to the folder of their file; null: nothing. */
export type IgnoreRules = (names: readonly string[], isFolder: boolean) => 'ignored' | 'kept' | null;

const MOST_RULES = 5000;

/** The rules of a `.gitignore`, as git reads them: of several that match the last counts. What is in an ignored folder is not asked for. */
export function ignoreRules(text: string): IgnoreRules {
  const rules = text
    .split('\n')
    .slice(0, MOST_RULES)
    .flatMap((line) => ruleOf(line) ?? [])
    .reverse();
  return (names, isFolder) => {
    const found = rules.find(
      ({ segments, isOfFolders, isOfName }) => (isFolder || !isOfFolders) && matches(segments, isOfName ? names.slice(-1) : names),
    );
    return found === undefined ? null : found.isKept ? 'kept' : 'ignored';
  };
}

interface Rule {
  readonly segments: readonly Segment[];
  readonly isKept: boolean;
  readonly isOfFolders: boolean;
  /** Not of the whole path. */
  readonly isOfName: boolean;
}

function ruleOf(line: string): Rule | null {
  const written = line.replace(/\r$/, '').replace(/(?<!\\) +$/, '');
  if (written === '' || written.startsWith('#')) return null;
  const isKept = written.startsWith('!');
  const pattern = isKept ? written.slice(1) : written;
  const isOfFolders = pattern.endsWith('/');
  const path = isOfFolders ? pattern.slice(0, -1) : pattern;
  if (path === '') return null;
  const isOfName = !path.includes('/');
  const segments = path.replace(/^\//, '').split('/').map(segmentOf);
  if (segments.at(-1) === FOLDERS) segments.push(segmentOf('*')); // what is in a folder, not the folder itself
  return { segments, isKept, isOfFolders, isOfName };
}
