export interface Position {
  readonly line: number;
  readonly column: number;
}

/** `[line, column]` of every key and item, by its path joined with dots. Plain data. */
export type Positions = Readonly<Record<string, readonly [number, number]>>;

/** The position of `path` or of its nearest parent that has one; null for the document itself. */
export function positionOf(positions: Positions, path: readonly PropertyKey[]): Position | null {
  for (let length = path.length; length > 0; length -= 1) {
    const found = positions[path.slice(0, length).map(String).join('.')];
    if (found !== undefined) return { line: found[0], column: found[1] };
  }
  return null;
}
