import { displayWidth } from '@pith/plain-text';
import { expect, it } from 'vitest';

it.each([
  ['abc', 3],
  ['', 0],
  ['日本', 4],
  ['e\u0301', 1],
  ['👍', 2],
  ['👍🏽', 2],
  ['👨‍👩‍👧', 2],
  ['🇩🇪', 2],
  ['❤️', 2],
  ['한국', 4],
  ['a\u200bb', 2],
  ['☝🏽', 2],
  ['❤', 1],
  ['1\ufe0f\u20e3', 2],
  ['1\u20e3', 2],
  ['🏴󠁧󠁢󠁥󠁮󠁧󠁿', 2],
  ['‼', 1],
  ['›…·', 3],
  ['ᄀ\u1161\u11a8', 2],
  ['ᄀ가', 4],
  ['ｶﾞ', 2],
  ['Ａ', 2],
  ['a\tb\r\n', 2],
  ['\u001b[31m日\u001b[0m', 2],
])('findings B11: %j takes %i cells', (text, cells) => expect(displayWidth(text)).toBe(cells));
