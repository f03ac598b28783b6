/** A line of a text, and what ends it: nothing at the end of the text. */
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

/** A text as it is compared: whatever ends a line of it is `\n`. */
export function withoutReturns(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
