/** Characters of a body in one part: about 8,000 tokens. */
export const PART_CHARACTERS = 32_000;

/** Cuts a long text at line ends, else between characters; joined again the parts are the text. */
export function partsOf(text: string, limit = PART_CHARACTERS): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  while (text.length - from > limit) {
    const end = cutBefore(text, from, from + limit);
    parts.push(text.slice(from, end));
    from = end;
  }
  parts.push(text.slice(from));
  return parts;
}

function cutBefore(text: string, from: number, latest: number): number {
  const line = text.lastIndexOf('\n', latest - 1) + 1;
  if (line > from + (latest - from) / 2) return line;
  const unit = text.charCodeAt(latest);
  return unit >= 0xdc00 && unit <= 0xdfff ? latest - 1 : latest; // not between the halves of a character
}
