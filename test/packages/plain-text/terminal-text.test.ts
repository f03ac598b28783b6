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
])('findings B11: %j takes %i cells', (text, cells) => expect(displayWidth(text)).toBe(cells));
