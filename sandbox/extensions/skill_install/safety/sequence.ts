/** A place where something is in a text. */
export interface Occurrence {
  readonly index: number;
  readonly text: string;
}

/**
 * Finds parts of a text that follow each other, each at most so many characters behind the one before: `'curl', 240, '\\| *sh'`.
 * The same as one expression with `.{0,240}?` between them, but it looks at each occurrence of a part once, however many there are.
 */
export class Sequence {
  readonly #parts: readonly RegExp[];
  readonly #gaps: readonly number[];

  /** Parts ignore case; none matches the empty text. */
  constructor(...parts: readonly (string | number)[]) {
    this.#parts = parts.filter((part) => typeof part === 'string').map((part) => new RegExp(part, 'gim'));
    this.#gaps = parts.filter((part) => typeof part === 'number');
  }

  /** Whether they are somewhere. */
  test(text: string): boolean {
    return this.find(text) !== null;
  }

  /** The first place where all are, each as near to the one before as may be. */
  find(text: string): Occurrence | null {
    let later: readonly Span[] | null = null;
    for (let at = this.#parts.length - 1; at >= 0; at--) {
      later = spans(text, this.#parts[at]!, at === 0, later === null ? null : { spans: later, gap: this.#gaps[at]! });
      if (later.length === 0) return null;
    }
    const [from, to] = later![0]!;
    return { index: from, text: text.slice(from, to) };
  }
}

/** From where to where the parts from one on are. */
type Span = readonly [from: number, to: number];

/** Where a part is with one of the `later` spans behind it. */
function spans(
  text: string,
  part: RegExp,
  first: boolean,
  later: { readonly spans: readonly Span[]; readonly gap: number } | null,
): readonly Span[] {
  const found: Span[] = [];
  part.lastIndex = 0;
  for (let match = part.exec(text); match !== null; match = part.exec(text)) {
    const from = match.index;
    const end = from + match[0].length;
    part.lastIndex = from + 1;
    const next = later === null ? null : later.spans[firstFrom(later.spans, end)];
    if (next === null) found.push([from, end]);
    else if (next !== undefined && next[0] <= end + later!.gap) found.push([from, next[1]]);
    if (first && found.length > 0) break;
  }
  return found;
}

/** The index of the first span that begins at `at` or behind it. */
function firstFrom(sorted: readonly Span[], at: number): number {
  let low = 0;
  for (let high = sorted.length; low < high;) {
    const middle = (low + high) >> 1;
    if (sorted[middle]![0] < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
