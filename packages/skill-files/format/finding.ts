/** A problem that a reader or a check found; the rule table turns it into a diagnostic. Lines and columns count from 1. */
export interface Finding {
  readonly code: string;
  /** What the message names: a field, a value, a count. */
  readonly detail: string;
  /** What the cure says to write, unless the rule says that itself. */
  readonly wanted?: string;
  readonly line?: number;
  readonly column?: number;
}

/** One value of the frontmatter and the position of its key. */
export interface Field {
  readonly value: unknown;
  readonly line: number;
  readonly column: number;
  /** The source text, where YAML reads something other than a string. */
  readonly source?: string;
  /** Written in braces or brackets. */
  readonly flow?: boolean;
}

export type Fields = ReadonlyMap<string, Field>;

/** Fields whose nested scalars are text: `1.0` in them stays "1.0". */
export const HOLDS_TEXT: ReadonlySet<string> = new Set([
  'metadata',
  'tags',
  'requires',
  'examples',
  'allowed-tools',
  'toolsets',
  'triggers',
]);

/** The value of a field as text; null when it is absent, empty or not a scalar. */
export function textOf(field: Field | undefined): string | null {
  if (field === undefined || field.value === null || field.value === undefined) return null;
  return typeof field.value === 'string' ? field.value : (field.source ?? null);
}

export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Lines and columns, from 1, of offsets into a text that begins on line `firstLine` of its file. */
export function placesIn(text: string, firstLine: number): (offset: number) => Place {
  let starts: number[] | null = null;
  return (offset) => {
    starts ??= startsIn(text);
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: firstLine + low, column: offset - starts[low]! + 1 };
  };
}

/** The offset of each line. */
function startsIn(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}
