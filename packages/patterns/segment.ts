/** One letter of a segment, or what stands for letters. */
type Token = string | typeof MANY | ((letter: string) => boolean);

const MANY = Symbol('any letters');
/** Any folders. */
export const FOLDERS = Symbol('**');

export type Segment = readonly Token[] | typeof FOLDERS;

/** What is between two slashes: `*` any letters, `?` one, `[a-z]` and `[!a-z]` one of these or none of them, `\` takes the meaning of the next. */
export function segmentOf(text: string): Segment {
  if (text === '**') return FOLDERS;
  const letters = [...text];
  const tokens: Token[] = [];
  for (let at = 0; at < letters.length; at += 1) {
    const letter = letters[at] as string;
    const set = letter === '[' ? setAt(letters, at) : null;
    if (set !== null) {
      tokens.push(set.has);
      at = set.end;
    } else if (letter === '*') {
      if (tokens.at(-1) !== MANY) tokens.push(MANY);
    } else if (letter === '?') tokens.push(() => true);
    else if (letter === '\\' && at + 1 < letters.length) tokens.push(letters[(at += 1)] as string);
    else tokens.push(letter);
  }
  return tokens;
}

/** Whether the names of a path are what the segments say, all of them. */
export function matches(segments: readonly Segment[], names: readonly string[]): boolean {
  return fits(segments, names, (segment) => segment === FOLDERS, isNamed);
}

function isNamed(segment: Segment, name: string): boolean {
  return fits(segment as readonly Token[], [...name], (token) => token === MANY, isLetter);
}

function isLetter(token: Token, letter: string): boolean {
  return typeof token === 'function' ? token(letter) : token === letter;
}

/** What has matched before the last that stands for many is never looked at again: of all ways to match, the shortest is as good as any. */
function fits<Part, Item>(
  pattern: readonly Part[],
  items: readonly Item[],
  isMany: (part: Part) => boolean,
  is: (part: Part, item: Item) => boolean,
): boolean {
  let [at, from, many, mark] = [0, 0, -1, 0];
  while (at < items.length) {
    const part = pattern[from];
    if (part !== undefined && isMany(part)) {
      many = from++;
      mark = at;
    } else if (part !== undefined && is(part, items[at] as Item)) {
      at++;
      from++;
    } else if (many >= 0) {
      from = many + 1;
      at = ++mark;
    } else return false;
  }
  while (from < pattern.length && isMany(pattern[from] as Part)) from++;
  return from === pattern.length;
}

const CLASSES: Readonly<Record<string, string>> = {
  alpha: 'azAZ',
  digit: '09',
  alnum: 'azAZ09',
  upper: 'AZ',
  lower: 'az',
  xdigit: '09afAF',
  space: '\t\r  ',
};

/** The set that begins here; null: it does not end, and is a bracket. */
function setAt(letters: readonly string[], start: number): { readonly has: (letter: string) => boolean; readonly end: number } | null {
  const isNone = letters[start + 1] === '!' || letters[start + 1] === '^';
  const first = start + (isNone ? 2 : 1);
  const ranges: (readonly [string, string])[] = [];
  let at = first;
  for (; letters[at] !== ']' || at === first; at += 1) {
    const end = letters.indexOf(']', at);
    if (at >= letters.length || end < 0) return null;
    const named = /^\[:([a-z]+):$/.exec(letters.slice(at, end).join(''));
    const known = named === null ? undefined : CLASSES[named[1] as string];
    if (known !== undefined) {
      for (let pair = 0; pair < known.length; pair += 2) ranges.push([known[pair] as string, known[pair + 1] as string]);
      at = end;
      continue;
    }
    if (letters[at] === '\\') at += 1;
    const low = letters[at] as string;
    const isRange = letters[at + 1] === '-' && letters[at + 2] !== ']' && letters[at + 2] !== undefined;
    if (isRange) at += letters[at + 2] === '\\' ? 3 : 2;
    ranges.push([low, letters[at] ?? low]);
  }
  return { has: (letter) => ranges.some(([low, high]) => letter >= low && letter <= high) !== isNone, end: at };
}
