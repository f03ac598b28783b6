/** The words of a typed line. Quotes join words; a backslash makes the next character literal. */
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

/** At most `most` names, and how many more there are. */
export function someOf(names: readonly string[], most: number): string {
  return `${names.slice(0, most).join(', ')}${names.length > most ? ` and ${names.length - most} more` : ''}`;
}

/** `2,000,000`, `16.8`. */
export function numberText(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** `1 skill`, `2 skills`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** `message; cure`, or the message alone where there is no cure. */
export function withCure(message: string, cure?: string): string {
  return cure ? `${message}; ${cure}` : message;
}

/** `12 bytes`, `3 KB`, `4.5 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** `a, b and c`. */
export function enumerated(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** The start and the end of a text, with a note on the missing middle and `cure`: how to see it. */
export function headAndTail(text: string, head: number, tail: number, cure = ''): string {
  if (text.length <= head + tail) return text;
  const said = `[… ${text.length - head - tail} characters cut${cure === '' ? '' : `; ${cure}`} …]`;
  return `${whole(text.slice(0, head))}\n${said}\n${whole(text.slice(-tail))}`;
}

/** A text of at most so many characters; of a longer one its beginning and its end. */
export function endsOf(text: string, characters: number): string {
  const half = Math.ceil(characters / 2);
  return text.length <= characters ? text : `${whole(text.slice(0, half))}\n${whole(text.slice(-half))}`;
}

/** Removes a surrogate without its pair, which a cut may leave at either end. */
function whole(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]/, '').replace(/[\uD800-\uDBFF]$/, '');
}
