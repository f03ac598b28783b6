/** A value of a frontmatter: text as it is written, whatever YAML would make of it, or entries. Lines and columns count from 1. */
export interface HeadValue {
  /** null: nothing is written, or it is a map or list. */
  readonly text: string | null;
  readonly entries: readonly HeadEntry[] | null;
  readonly items: readonly HeadValue[] | null;
  readonly line: number;
  readonly column: number;
}

export interface HeadEntry {
  readonly key: string;
  readonly line: number;
  readonly column: number;
  readonly value: HeadValue;
}

/** Why a text is no frontmatter, and where. */
export interface HeadProblem {
  readonly problem: string;
  readonly line: number;
  readonly column: number;
}
