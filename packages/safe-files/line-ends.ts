/** A line of a text with its line end, which is empty at the end of the text. */
export interface Line {
  readonly text: string;
  readonly end: '\n' | '\r\n' | '';
}

export function linesOf(text: string): readonly Line[] {
  return (text.match(/[^\n]*\n|[^\n]+/gu) ?? []).map((line) => {
    const end = line.endsWith('\r\n') ? '\r\n' : line.endsWith('\n') ? '\n' : '';
    return { text: line.slice(0, line.length - end.length), end };
  });
}

export function textOfLines(lines: readonly Line[]): string {
  return lines.map(({ text, end }) => text + end).join('');
}

/** A text for comparison: every line end is `\n`. */
export function withoutReturns(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
