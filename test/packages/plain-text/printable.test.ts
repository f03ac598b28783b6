import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findingLine, printable, printableJson, printableLine, printablePainted, PrintableStream } from '@pith/plain-text';

const ORDINARY = [
  'Plain words, 100 % of them: ~/a_b.c "quoted" <b> & \\n',
  'Grüße, naïve café, Ελληνικά, Кириллица, łódź, Việt, Türkçe İ ı',
  'العربية: مرحبا بالعالم، قُلْ ١٢٣',
  'می‌خواهم کتاب‌ها را بخوانم',
  'שלום עולם, בְּרֵאשִׁית',
  'हिन्दी क्‍ष क्‌ष शुक्रिया र्‍य',
  'বাংলা র‍্য, தமிழ், ಕನ್ನಡ ರ‍್ಯ, മലയാളം അവന്‍, සිංහල ශ්‍රී',
  'ไทย ລາວ ខ្មែរ မြန်မာ བོད་ ᠮᠣᠩᠭᠣᠯ',
  '中文字 日本語カタカナ 한국어 葛󠄀飾',
  '😀 👍🏽 👩‍❤️‍💋‍👨 👨‍👩‍👧‍👦 🏳️‍🌈 🏴‍☠️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🧑🏽‍🦰 1️⃣ #️⃣ ❤️ ☺︎ 🇪🇺',
  '┌─┐ │▒│ └─┘ ← → ∑ √2 ≤ 3 · … — “quotes” €\u00a0',
];

const HOSTILE: readonly (readonly [string, string])[] = [
  ['\u001b]52;c;Y2FuYXJ5\u0007', '\\x1b]52;c;Y2FuYXJ5\\x07'],
  ['\u009b31mred', '\\x9b31mred'],
  ['a\u0000b\u007fc\u0085d\bx', 'a\\x00b\\x7fc\\x85d\\x08x'],
  ['user\u202etxt.exe', 'user\\u{202e}txt.exe'],
  ['\u2066a\u2069\u200e\u200f\u061c', '\\u{2066}a\\u{2069}\\u{200e}\\u{200f}\\u{61c}'],
  ['pass\u200bword\ufeff\u00ad\u2060', 'pass\\u{200b}word\\u{feff}\\xad\\u{2060}'],
  ['a\u200db \u200c', 'a\\u{200d}b \\u{200c}'],
  ['\u{e0041}\u{e0042}\u{e007f}', '\\u{e0041}\\u{e0042}\\u{e007f}'],
  ['🏴\u{e0068}\u{e0069}\u{e007f}', '🏴\\u{e0068}\\u{e0069}\\u{e007f}'],
  ['😀\ufe0f\ufe0f\u{e0101}x\ufe0f', '😀\ufe0f\\u{fe0f}\\u{e0101}x\\u{fe0f}'],
  ['a\u2028b\u2029c', 'a\\u{2028}b\\u{2029}c'],
  ['\ud800x\udc00', '\\u{d800}x\\u{dc00}'],
  ['\u3164\u115f\u034f', '\\u{3164}\\u{115f}\\u{34f}'],
  ['\u{f0000}\ue000', '\\u{f0000}\\u{e000}'],
];

/** What reaches no terminal, said once more and otherwise: by ranges, not by classes. */
function isForbidden(point: number, line: boolean): boolean {
  const within = (ranges: readonly (readonly [number, number])[]) => ranges.some(([from, to]) => point >= from && point <= to);
  if (point === 0x0a || point === 0x09) return line;
  return within([
    [0, 0x1f],
    [0x7f, 0x9f],
    [0xad, 0xad],
    [0x61c, 0x61c],
    [0x200b, 0x200b],
    [0x200e, 0x200f],
    [0x2028, 0x202e],
    [0x2060, 0x206f],
    [0xfeff, 0xfeff],
    [0xd800, 0xdfff],
    [0xe0000, 0xe0066],
  ]);
}

/** Strings that are rich in what is to be shown, and in what joins. */
const rich = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...HOSTILE.flatMap(([text]) => [...text])),
    fc.constantFrom(...ORDINARY.flatMap((text) => [...text])),
    fc.constantFrom('\r', '\n', '\t', '\u200c', '\u200d', '\ufe0f', '\ufe0e', '\u180b', '\u{e0100}', '7', '\u20e3', '\u094d', '\u{1f3f4}'),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point)),
  ),
  maxLength: 60,
});

describe('T19: text from elsewhere as it is shown', () => {
  it.each(ORDINARY)('T19: ordinary text stays as it is: %s', (text) => {
    expect(printable(text)).toBe(text);
    expect(printableLine(text)).toBe(text);
  });

  it.each(HOSTILE)('T19: %j is shown', (text, shown) => {
    expect(printable(text)).toBe(shown);
    expect(printableLine(text)).toBe(shown);
  });

  it('T19: lines and tabs stay in a text, and are shown in a line', () => {
    expect(printable('a\r\nb\rc\td\n')).toBe('a\nb\\rc\td\n');
    expect(printableLine('a\r\nb\rc\td\n')).toBe('a\\r\\nb\\rc\\td\\n');
  });

  it('T19: a line is cut at so many characters, between whole ones', () => {
    expect(printableLine('abcdef', 4)).toBe('abc…');
    expect(printableLine('abcd', 4)).toBe('abcd');
    expect(printableLine('😀😀😀', 3)).toBe('😀😀😀');
    expect(printableLine('😀😀😀😀', 3)).toBe('😀😀…');
    expect(printableLine('👨‍👩‍👧', 3)).toBe('👨…');
    expect(printableLine('\u001b'.repeat(9), 4)).toBe('\\x1…');
  });

  it('T19: whatever is given, nothing unseen comes out, and twice is as once', () => {
    fc.assert(
      fc.property(rich, fc.integer({ min: 1, max: 30 }), (text, most) => {
        for (const [given, isLine] of [
          [printable(text), false],
          [printableLine(text), true],
          [printableLine(text, most), true],
        ] as const) {
          expect([...given].filter((character) => isForbidden(character.codePointAt(0)!, isLine))).toEqual([]);
          expect(isLine ? printableLine(given) : printable(given)).toBe(given);
        }
        expect([...printableLine(text, most)].length).toBeLessThanOrEqual(most);
      }),
      { numRuns: 3000 },
    );
  });

  it('T19: in pieces it is shown as in one', () => {
    fc.assert(
      fc.property(fc.array(rich, { maxLength: 12 }), (pieces) => {
        const stream = new PrintableStream();
        expect(pieces.map((piece) => stream.feed(piece)).join('') + stream.end()).toBe(printable(pieces.join('')));
      }),
      { numRuns: 2000 },
    );
    const stream = new PrintableStream();
    const units = ORDINARY.join('\r\n').split('');
    expect(units.map((unit) => stream.feed(unit)).join('') + stream.end()).toBe(ORDINARY.join('\n'));
  });

  it('T19: JSON stays JSON of the same value', () => {
    fc.assert(
      fc.property(fc.dictionary(rich, rich), (value) => {
        const text = printableJson(JSON.stringify(value));
        expect(JSON.parse(text)).toEqual(value);
        expect(printable(text)).toBe(text);
      }),
    );
    expect(printableJson(JSON.stringify(['\u009b\u202e', '\u{e0041}']))).toBe(String.raw`["\u009b\u202e","\udb40\udc41"]`);
  });

  it('T19: of what is painted, the paint alone is obeyed', () => {
    expect(printablePainted('\u001b[1mTOOL\u001b[22m \u001b[31mred\u001b[39m')).toBe('\u001b[1mTOOL\u001b[22m \u001b[31mred\u001b[39m');
    expect(printablePainted('\u001b[1m\u001b[8mx\u001b[2J\u001b]0;t\u0007')).toBe('\u001b[1m\\x1b[8mx\\x1b[2J\\x1b]0;t\\x07');
  });

  it('T19: the work grows with the length of the text, whatever it holds', () => {
    const size = 100_000;
    for (const unit of ['\u200d', '\ufe0f', '😀', '\u{e0067}', 'क', '🏴\u{e0067}\u{e0062}', '\r', '\u001b', '\u094d\u200d'])
      expect(printable(unit.repeat(size)).length).toBeGreaterThanOrEqual(size);
    expect(printableLine('\u202e'.repeat(size), 10)).toBe('\\u{202e}\\…');
  });
});

it.each([
  [{ file: '/x/a/main.ts', line: 2, message: 'main.ts:2: Unexpected ";"' }, '/x/a/main.ts:2: Unexpected ";"'],
  [{ file: '/x/a/main.ts', line: 2, message: 'main.ts:2:7: Unexpected ";"' }, '/x/a/main.ts:2:7: Unexpected ";"'],
  [{ file: '/x/a/main.ts', line: 2, message: 'other.ts:2: wrong' }, '/x/a/main.ts:2: other.ts:2: wrong'],
  [{ file: '/x/main.ts', message: '/x/main.ts:3: wrong', cure: 'correct it' }, '/x/main.ts:3: wrong; correct it'],
  [{ file: '/x/main.ts', message: 'wrong' }, '/x/main.ts: wrong'],
])('F12 a finding names its place once: %j', (finding, line) => expect(findingLine(finding)).toBe(line));
