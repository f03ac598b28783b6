/**
 * Text from elsewhere as it may reach a terminal, a prompt's own lines or a log: lines and tabs stay, `\r\n` is a line end, and
 * every other character that a terminal obeys, that nobody sees or that turns the order of text is shown as `\x1b` or `\u{202e}`.
 * What emoji and joining scripts need between their letters stays.
 */
export function printable(text: string): string {
  return PLAIN.test(text) ? text : text.replace(LINE_ENDS, '\n').replace(unseen(), shown);
}

/** The same as one line, for names, titles and errors: its ends of lines and tabs are shown too. Cut with `…` at so many characters. */
export function printableLine(text: string, mostCharacters = Infinity): string {
  // No character becomes less than one, so what lies behind this cut is never shown.
  const given = text.length > 2 * mostCharacters + 2 ? text.slice(0, 2 * mostCharacters + 2) : text;
  const line = PLAIN_LINE.test(given) ? given : given.replace(unseen(), shown).replace(BREAK, shown);
  if (line.length <= mostCharacters) return line;
  const characters = [...line];
  if (characters.length <= mostCharacters) return line;
  // A cut may leave a joiner without what it joins.
  return `${characters
    .slice(0, mostCharacters - 1)
    .join('')
    .replace(HANGING, '')}…`;
}

/** `file:line: message; cure`, as far as it is known. */
export function findingLine(finding: {
  readonly message?: string;
  readonly file?: string;
  readonly line?: number;
  readonly cure?: string;
}): string {
  const { message = '', file, line, cure } = finding;
  const where = file === undefined || message.includes(file) ? '' : `${file}${line === undefined ? '' : `:${line}`}: `;
  return printable(`${where}${message}${cure === undefined || message.includes(cure) ? '' : `; ${cure}`}`);
}

/** A text whose bold and colours are Pith's own, as it paints them; nothing else of a terminal's is obeyed. */
export function printablePainted(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .split(PAINT)
    .map((part, index) => (index % 2 === 0 ? printable(part) : part))
    .join('');
}

/** JSON of the same value, in which what would be unseen is written as `\u202e`. */
export function printableJson(json: string): string {
  return PLAIN.test(json) ? json : json.replace(unseen(), escaped);
}

/** A text that comes in pieces: what is given out is together as `printable` of the whole. */
export class PrintableStream {
  /** What was given out last, as far as it decides about what follows. */
  #before = '';
  #held = '';

  feed(piece: string): string {
    const text = this.#held + piece;
    this.#held = undecided(text);
    return this.#take(text.slice(0, text.length - this.#held.length));
  }

  /** What was held back. The next piece begins a new text. */
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

/** Nearly every text of Pith itself. */
const PLAIN = /^[\t\n -~]*$/;
const PLAIN_LINE = /^[ -~]*$/;
const LINE_ENDS = /\r\n/g;
const BREAK = /[\n\t]/g;

/** Letters and signs of scripts whose spelling uses the joiners U+200C and U+200D, from Hebrew and Arabic to Javanese. */
const JOINING =
  '\\u0591-\\u061B\\u0620-\\u07FF\\u08A0-\\u0DFF\\u0F00-\\u109F\\u1780-\\u17B3\\u17B6-\\u17D3\\u1820-\\u18AA\\u1B00-\\u1BFF\\uA8E0-\\uA8FF\\uA980-\\uA9DF';

/** Where an unseen character belongs to what is seen. No neighbour named here is itself unseen, so what is kept once is kept always. */
const BELONGING = [
  // Numbers and ends of verses: format characters by their class, yet they are drawn.
  '[\\u0600-\\u0605\\u06DD\\u070F\\u0890\\u0891\\u08E2\\u{110BD}\\u{110CD}]',
  `(?<=[${JOINING}])[\\u200C\\u200D](?=[${JOINING}])`,
  // Half forms at the end of a word, after the sign that takes the vowel away.
  '(?<=[\\u094D\\u09CD\\u0D4D\\u0DCA])\\u200D',
  // Emoji: families and trades, colour or line, keys, and the three flags that are written with tags.
  '(?<=\\p{Extended_Pictographic}[\\uFE0F\\p{Emoji_Modifier}]?)\\u200D(?=\\p{Extended_Pictographic})',
  '(?<=\\p{Extended_Pictographic})[\\uFE0E\\uFE0F]',
  '(?<=[0-9#*])\\uFE0F(?=\\u20E3)',
  '(?<=\\u{1F3F4})\\u{E0067}\\u{E0062}(?:\\u{E0065}\\u{E006E}\\u{E0067}|\\u{E0073}\\u{E0063}\\u{E0074}|\\u{E0077}\\u{E006C}\\u{E0073})\\u{E007F}',
  // Forms of one letter: of Mongolian, of Han.
  '(?<=[\\u1820-\\u18AA])[\\u180B-\\u180F]',
  '(?<=\\p{Script=Han})[\\uFE00-\\uFE02\\u{E0100}-\\u{E01EF}]',
];

/** Made for the first text beyond ASCII: it takes a millisecond, which most command lines never need. */
function unseen(): RegExp {
  return (made ??= new RegExp(
    `(${BELONGING.join('|')})|[^\\P{Cc}\\n\\t]|[\\p{Cf}\\p{Cs}\\p{Co}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]`,
    'gu',
  ));
}

let made: RegExp | undefined;

/** The end of a piece that what follows may still keep from being shown. */
function undecided(text: string): string {
  const run = UNDECIDED.exec(text.slice(-2 * LONGEST_BELONGING))?.[0] ?? '';
  return run.length <= LONGEST_BELONGING ? run : (HALF.exec(run)?.[0] ?? '');
}

const UNDECIDED = /[\r\p{Cs}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u;
/** Of a line end, or of a character. */
const HALF = /[\r\p{Cs}]$/u;
/** UTF-16 units: the tags of a flag. */
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
