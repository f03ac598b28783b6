/** A line as a person reads it: without what nobody sees, and without letters of other scripts in words of Latin ones. */
export function plainLine(line: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(line)) return line;
  const visible = line.normalize('NFKC').replace(/[\p{Cf}\u00ad]+/gu, '');
  return LOOK_ALIKE.test(visible) ? visible.replace(WORD, (word) => (/[a-z]/i.test(word) ? asLatin(word) : word)) : visible;
}

const FOREIGN =
  '\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0432\u043a\u043c\u043d\u0442\u03bf\u03b1\u03bd\u03b9\u03c1\u03c5';
const LATIN = 'aeopcyxijshdqwbkmhtoavipu';
const LOOK_ALIKE = new RegExp(`[${FOREIGN}]`, 'i');
const WORD = /[a-z\u0370-\u052f]+/gi;

function asLatin(word: string): string {
  return Array.from(word, (letter) => {
    const at = FOREIGN.indexOf(letter.toLowerCase());
    return at === -1 ? letter : LATIN.charAt(at);
  }).join('');
}
