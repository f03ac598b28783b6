/** Words of a typed line; quotes hold words together, a backslash takes the next character as it is. */
export function splitWords(line: string): readonly string[] {
  const words: string[] = [];
  for (const [word] of line.matchAll(/(?:"(?:\\[\s\S]|[^"\\])*"?|'[^']*'?|\\[\s\S]|[^\s"'\\]+|\\$)+/gu)) {
    words.push(
      word.replace(/"((?:\\[\s\S]|[^"\\])*)"?|'([^']*)'?|\\([\s\S])/gu, (whole, double?: string, single?: string, escaped?: string) =>
        double !== undefined ? double.replace(/\\(["\\])/gu, '$1') : (single ?? escaped ?? whole),
      ),
    );
  }
  return words;
}
