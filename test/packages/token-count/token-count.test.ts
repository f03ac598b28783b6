import { countTokens as real } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, it, onTestFinished, vi } from 'vitest';
import { countTokens, mostTokens, startWithin } from '@pith/token-count';
import { TEXTS_OF_MANY_KINDS } from '../../fixtures/texts-of-many-kinds.ts';

it('T2 counts at most 10 % too few and 35 % too many tokens in sixty languages and kinds of text', () => {
  expect(TEXTS_OF_MANY_KINDS.size).toBeGreaterThan(55);
  const far = [...TEXTS_OF_MANY_KINDS]
    .map(([kind, text]) => [kind, countTokens(text) / real(text)] as const)
    .filter(([, ratio]) => ratio < 0.9 || ratio > 1.35);
  expect(far).toEqual([]);
});

it('T2 counts long texts of several kinds as well as short ones', () => {
  const all = [...TEXTS_OF_MANY_KINDS.values()].join('\n\n');
  expect(countTokens(all) / real(all)).toBeGreaterThan(0.95);
  expect(countTokens(all) / real(all)).toBeLessThan(1.2);
  for (const text of ['a'.repeat(100_000), ' '.repeat(100_000), '\ud800'.repeat(1000), '']) expect(countTokens(text)).toBeLessThan(100_001);
});

it('W32 counts parts of a text of megabytes, and about as many tokens as in all of it', () => {
  let read = 0;
  const matchAll = vi.spyOn(String.prototype, 'matchAll').mockImplementation(function* (this: string, pattern: RegExp) {
    read += this.length;
    for (let match = pattern.exec(this); match !== null; match = pattern.exec(this)) yield match;
  } as never);
  onTestFinished(() => matchAll.mockRestore());
  const all = [...TEXTS_OF_MANY_KINDS.values()].join('\n\n').slice(0, 100_000);
  const once = countTokens(all);
  for (const times of [2, 40]) {
    read = 0;
    expect(Math.abs(countTokens(all.repeat(times)) / (once * times) - 1)).toBeLessThan(0.1);
    expect(read).toBeLessThan(300_000);
  }
});

it('R10 for a budget no text has more tokens than are counted', () => {
  for (const [kind, text] of TEXTS_OF_MANY_KINDS) expect(mostTokens(text), kind).toBeGreaterThanOrEqual(real(text));
});

it('gives the longest start of a text within so many tokens, and all of it where it fits', () => {
  for (const [kind, text] of TEXTS_OF_MANY_KINDS) {
    const start = startWithin(text, 20);
    expect(text.startsWith(start), kind).toBe(true);
    expect(real(start), kind).toBeLessThanOrEqual(25);
    expect(startWithin(text, countTokens(text))).toBe(text);
  }
  expect(startWithin('some words', 0)).toBe('');
});
