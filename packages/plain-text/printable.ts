/**
 * Makes foreign text safe for a terminal, a prompt's own lines or a log. Line feeds and tabs stay, and `\r\n` becomes a line feed. Every
 * other character that controls a terminal, is invisible or reorders text is shown as `\x1b` or `\u{202e}`. Joiners that emoji and scripts
 * need stay.
 */
export function printable(text: string): string {
  return PLAIN.test(text) ? text : text.replace(LINE_ENDS, '\n').replace(unseen(), shown);
}

/** The same as one line, for names, titles and errors: line ends and tabs are escaped too. Cut with `…` at `mostCharacters`. */
export function printableLine(text: string, mostCharacters = Infinity): string {
  // No character gets shorter, so text behind this cut would never be shown.
  const given = text.length > 2 * mostCharacters + 2 ? text.slice(0, 2 * mostCharacters + 2) : text;
  const line = PLAIN_LINE.test(given) ? given : given.replace(unseen(), shown).replace(BREAK, shown);
  if (line.length <= mostCharacters) return line;
  const characters = [...line];
  if (characters.length <= mostCharacters) return line;
  // The cut may leave a joiner without a neighbour.
  return `${characters
    .slice(0, mostCharacters - 1)
    .join('')
    .replace(HANGING, '')}…`;
}

/** `file:line: message; cure`, without what is missing. */
export function findingLine(finding: {
  readonly message?: string;
  readonly file?: string;
  readonly line?: number;
  readonly cure?: string;
}): string {
  const { message = '', file, line, cure } = finding;
  const [, own = ''] = /^([^\s:]+):\d+(?::\d+)?: /u.exec(message) ?? [];
  const isSaid = file === undefined || message.includes(file);
  const where = isSaid
    ? ''
    : own !== '' && file.endsWith(`/${own}`)
      ? file.slice(0, -own.length)
      : `${file}${line === undefined ? '' : `:${line}`}: `;
  return printable(`${where}${message}${cure === undefined || message.includes(cure) ? '' : `; ${cure}`}`);
}

/** As `printable`, for a text with Pith's own bold and colours, which stay; other control sequences are escaped. */
export function printablePainted(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .split(PAINT)
    .map((part, index) => (index % 2 === 0 ? printable(part) : part))
    .join('');
}

/** The same JSON value with invisible characters written as `\u202e`. */
export function printableJson(json: string): string {
  return PLAIN.test(json) ? json : json.replace(unseen(), escaped);
}

/** `printable` for a text in chunks: the outputs together equal `printable` of the whole. */
export class PrintableStream {
  /** The end of the last output, as far as it decides about the next characters. */
  #before = '';
  #held = '';

  feed(piece: string): string {
    const text = this.#held + piece;
    this.#held = undecided(text);
    return this.#take(text.slice(0, text.length - this.#held.length));
  }

  /** Returns the text that was held back. The next chunk begins a new text. */
  end(): string {
    const rest = this.#take(this.#held);
    this.#before = '';
    this.#held = '';
    return rest;
  }

  #take(text: string): string {
    const whole = printable(this.#before + text).slice(printable(this.#before).length);
    this.#before = CONTEXT.exec((this.#before + text).slice(-LONGEST_CONTEXT))?.[0] ?? '';
    return whole;
  }
}

/** Matches nearly every text of Pith itself. */
const PLAIN = /^[\t\n -~]*$/;
const PLAIN_LINE = /^[ -~]*$/;
const LINE_ENDS = /\r\n/g;
const BREAK = /[\n\t]/g;

/** Letters and signs of scripts whose spelling uses the joiners U+200C and U+200D, from Hebrew and Arabic to Javanese. */
const JOINING =
  '\\u0591-\\u061B\\u0620-\\u07FF\\u08A0-\\u0DFF\\u0F00-\\u109F\\u1780-\\u17B3\\u17B6-\\u17D3\\u1820-\\u18AA\\u1B00-\\u1BFF\\uA8E0-\\uA8FF\\uA980-\\uA9DF';

/** Where an invisible character belongs to a visible one. The neighbours here are all visible, so a second pass keeps the same. */
const BELONGING = [
  // Number signs and verse ends: format characters by their class, but visible.
  '[\\u0600-\\u0605\\u06DD\\u070F\\u0890\\u0891\\u08E2\\u{110BD}\\u{110CD}]',
  `(?<=[${JOINING}])[\\u200C\\u200D](?=[${JOINING}])`,
  // Half forms at the end of a word, after the sign that removes the vowel.
  '(?<=[\\u094D\\u09CD\\u0D4D\\u0DCA])\\u200D',
  // Emoji: families and occupations, colour or outline, keycaps, and the three flags that are written with tags.
  '(?<=\\p{Extended_Pictographic}[\\uFE0F\\p{Emoji_Modifier}]?)\\u200D(?=\\p{Extended_Pictographic})',
  '(?<=\\p{Extended_Pictographic})[\\uFE0E\\uFE0F]',
  '(?<=[0-9#*])\\uFE0F(?=\\u20E3)',
  '(?<=\\u{1F3F4})\\u{E0067}\\u{E0062}(?:\\u{E0065}\\u{E006E}\\u{E0067}|\\u{E0073}\\u{E0063}\\u{E0074}|\\u{E0077}\\u{E006C}\\u{E0073})\\u{E007F}',
  // Variants of one letter: Mongolian, Han.
  '(?<=[\\u1820-\\u18AA])[\\u180B-\\u180F]',
  '(?<=\\p{Script=Han})[\\uFE00-\\uFE02\\u{E0100}-\\u{E01EF}]',
];

/** Compiled for the first text beyond ASCII: it takes a millisecond, which most commands never need. */
function unseen(): RegExp {
  return (made ??= new RegExp(
    `(${BELONGING.join('|')})|[^\\P{Cc}\\n\\t]|[\\p{Cf}\\p{Cs}\\p{Co}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]`,
    'gu',
  ));
}

let made: RegExp | undefined;

/** The end of a chunk whose characters depend on the next chunk. */
function undecided(text: string): string {
  const run = UNDECIDED.exec(text.slice(-2 * LONGEST_BELONGING))?.[0] ?? '';
  return run.length <= LONGEST_BELONGING ? run : (HALF.exec(run)?.[0] ?? '');
}

const UNDECIDED = /[\r\p{Cs}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u;
/** The first half of a line end or of a character. */
const HALF = /[\r\p{Cs}]$/u;
/** In UTF-16 units: the tags of a flag. */
const LONGEST_BELONGING = 12;
/** An emoji with its colour, or a letter. */
const CONTEXT = /[^]{1,2}$/u;
const LONGEST_CONTEXT = 4;
/** Bold, dim, italic, underlined, struck, red, green, yellow, cyan, and their ends. */
// oxlint-disable-next-line no-control-regex
const PAINT = /(\u001b\[(?:[12349]|2[2349]|3[12369])m)/u;
const HANGING = /[\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u;

const SHORT = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

function shown(character: string, belonging?: string | number): string {
  if (typeof belonging === 'string') return character;
  const point = character.codePointAt(0) ?? 0;
  const code = point.toString(16);
  return SHORT.get(character) ?? (point <= 0xff ? `\\x${code.padStart(2, '0')}` : `\\u{${code}}`);
}

function escaped(character: string, belonging?: string | number): string {
  if (typeof belonging === 'string') return character;
  return Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
}
