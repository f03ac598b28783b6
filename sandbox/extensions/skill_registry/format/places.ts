export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Lines and columns, from 1, of offsets into a text that begins on line `firstLine` of its file. Many are asked for one text. */
export function placesIn(text: string, firstLine: number): (offset: number) => Place {
  let starts: number[] | null = null;
  return (offset) => {
    starts ??= startsOf(text);
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: firstLine + low, column: offset - (starts[low] as number) + 1 };
  };
}

function startsOf(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}
