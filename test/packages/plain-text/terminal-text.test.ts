import { displayWidth } from '@pith/plain-text';
import { expect, it } from 'vitest';

/** By how many cells of a terminal they take. */
const TEXTS: Readonly<Record<number, readonly string[]>> = {
  0: [''],
  1: ['e\u0301', '❤', '‼'],
  2: [
    '👍',
    '👍🏽',
    '👨‍👩‍👧',
    '🇩🇪',
    '❤️',
    'a\u200bb',
    '☝🏽',
    '1\ufe0f\u20e3',
    '1\u20e3',
    '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
    'ᄀ\u1161\u11a8',
    'ｶﾞ',
    'Ａ',
    'a\tb\r\n',
    '\u001b[31m日\u001b[0m',
  ],
  3: ['abc', '›…·'],
  4: ['日本', '한국', 'ᄀ가'],
};

it.each(Object.entries(TEXTS).flatMap(([cells, texts]) => texts.map((text) => [text, Number(cells)] as const)))(
  'findings B11: %j takes %i cells',
  (text, cells) => expect(displayWidth(text)).toBe(cells),
);
