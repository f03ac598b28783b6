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

export const LISTS: readonly string[] = ['tags', 'requires', 'examples', 'toolsets'];
export const MAPS: readonly string[] = ['metadata', 'triggers'];

/** Fields whose nested scalars are text: `1.0` in them stays "1.0". */
export const HOLDS_TEXT: ReadonlySet<string> = new Set([...LISTS, ...MAPS, 'allowed-tools']);

/** The value of a field as text; null when it is absent, empty or not a scalar. */
export function textOf(field: Field | undefined): string | null {
  if (field === undefined || field.value === null || field.value === undefined) return null;
  return typeof field.value === 'string' ? field.value : (field.source ?? null);
}

/** The line and column of an offset, from 1. */
export function placeAt(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
}
