/** Tells on which line an offset lies, in linear time over growing offsets. */
export function lineCounter(text: string): (at: number) => number {
  let line = 1;
  let end = endFrom(text, 0);
  let last = 0;
  return (at) => {
    if (at < last) {
      line = 1;
      end = endFrom(text, 0);
    }
    last = at;
    for (; end < at; end = endFrom(text, end + 1)) line += 1;
    return line;
  };
}

function endFrom(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? Infinity : end;
}
