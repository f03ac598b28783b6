/** A line as a person reads it: without what nobody sees, and without letters of other scripts in words of Latin ones, also where entities spell it. */
export function plainLine(written: string): string {
  const line = written.includes('&') ? written.replace(ENTITY, decoded) : written;
  // oxlint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(line)) return line;
  const visible = line.normalize('NFKC').replace(/[\p{Cf}\u00ad]+/gu, '');
  return LOOK_ALIKE.test(visible) ? visible.replace(WORD, (word) => (/[a-z]/i.test(word) ? asLatin(word) : word)) : visible;
}

/** Numbers stand for any character, and are read without their semicolon; names for those that hold words apart. */
const ENTITY =
  /&(?:#(\d{1,7}|x[0-9a-f]{1,6});?|(nbsp|ensp|emsp|thinsp|shy|zwnj|zwj|Tab|NewLine|amp|lt|gt|quot|apos|colon|sol|lpar|rpar|period);)/gi;
const NAMED: ReadonlyMap<string, string> = new Map([
  ...['nbsp', 'ensp', 'emsp', 'thinsp', 'tab', 'newline'].map((name) => [name, ' '] as const),
  ...['shy', 'zwnj', 'zwj'].map((name) => [name, ''] as const),
  ...Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", colon: ':', sol: '/', lpar: '(', rpar: ')', period: '.' }),
]);

function decoded(entity: string, number: string | undefined, name: string | undefined): string {
  if (number === undefined) return NAMED.get(name?.toLowerCase() ?? '') ?? entity;
  const code = /^x/i.test(number) ? Number.parseInt(number.slice(1), 16) : Number(number);
  return code === 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? entity : String.fromCodePoint(code);
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
