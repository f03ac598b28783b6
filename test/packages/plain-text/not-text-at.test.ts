import { notTextAt } from '@pith/plain-text';
import { describe, expect, it } from 'vitest';

const bytes = (...parts: readonly (string | readonly number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

describe('where bytes stop being text', () => {
  it.each([
    ['nothing', bytes(), null],
    ['ASCII', bytes('plain\n'), null],
    ['all kinds of characters', bytes('Grüße, 世界, 🙂, \u202e'), null],
    ['a NUL', bytes('// a\0b'), 4],
    ['a NUL before a bad byte', bytes('a\0b', [0xff]), 1],
    ['a bad byte before a NUL', bytes('ab', [0xff], '\0'), 2],
    ['Latin 1', bytes('Gr', [0xfc], 'n'), 2],
    ['a continuation alone', bytes('é', [0x80]), 2],
    ['an overlong form', bytes('x', [0xc0, 0xaf]), 1],
    ['half of a pair: the byte that does not fit', bytes('x', [0xed, 0xa0, 0x80]), 2],
    ['a character that is cut off', bytes('ok', [0xf0, 0x9f, 0x99]), 2],
  ])('T18 F13: %s', (_, given, at) => {
    expect(notTextAt(given)).toBe(at);
  });

  it('T18 F13: what is said to be text is what a strict decoder takes, and all before the place is', () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    const isText = (given: Buffer) => Buffer.from(given.toString()).equals(given);
    for (let round = 0; round < 3000; round += 1) {
      const byte = () => [random(127) + 1, 0xc3, 0xa9, 0xe2, 0x82, 0xac, random(255) + 1][random(7)] ?? 1;
      const given = Buffer.from(Array.from({ length: random(12) }, byte));
      const at = notTextAt(given);
      expect([given.toString('hex'), at === null]).toEqual([given.toString('hex'), isText(given)]);
      expect(at === null || at < given.length).toBe(true);
    }
  });
});
