import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { guardedYaml, yamlValue } from '@pith/guarded-yaml';
import { words } from '../../words.ts';

const DEPTH = 64;
const times = (part: string, bytes = 64 * 1024) => part.repeat(bytes / part.length);

describe('YAML of others', () => {
  it.each([
    ['brackets', times('[')],
    ['brackets closed only within quotes', times('["]",')],
    ['braces closed only within quotes', times('{"}":')],
    ['brackets closed only in comments', times('[ #]\n ')],
    ['lists in one line', times('- ')],
    ['keys in one line', times('? ')],
    ['brackets below a key', `a:\n  b: ${times('[{')}`],
    ['lists, each a little further right', Array.from({ length: 300 }, (_, depth) => `${' '.repeat(depth)}-`).join('\n')],
  ])('refuses what nests too deep, and names the place: %s', (_name, text) => {
    const { document, refused } = guardedYaml(text);
    expect(document).toBeNull();
    expect(refused?.offset).toBeGreaterThanOrEqual(DEPTH);
    expect(refused?.offset).toBeLessThan(20_000);
    expect(() => yamlValue(text)).toThrow('more than 64 levels of nesting');
  });

  it('reads what nests just as deep as allowed', () => {
    const text = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
    expect(yamlValue(text)).toEqual(parse(text));
    expect(guardedYaml(`[${text}]`).document).toBeNull();
  });

  it('refuses more words and marks than asked for', () => {
    expect(guardedYaml('a: 1\n', { lexemes: 10 }).refused).toBeNull();
    expect(guardedYaml('a: 1\n'.repeat(3), { lexemes: 10 }).refused).toEqual({ excess: 'more than 10 words and marks', offset: 7 });
  });

  it('stops at twenty errors, and keeps the first', () => {
    const { document } = guardedYaml(`a: 1\n${times(']')}`);
    expect(document?.errors.length).toBeLessThan(30);
    expect(document?.errors[0]?.message).toMatch(/Unexpected flow-seq-end token/);
  });

  it('names where a second document begins', () => {
    expect(guardedYaml('a: 1\n').secondAt).toBe(-1);
    expect(guardedYaml('a: 1\n---\nb: 2\n').secondAt).toBeGreaterThan(4);
  });

  it('gives what `yaml` gives, for whatever it reads', () => {
    const spaced = ['a: ', 'b: ', '&n ', '- ', '\n', '\n  ', '"y z"', ', ', '# c', '|\n  t', '\t'];
    const part = fc.constantFrom(...spaced, ...words(`x 'q' [ ] { } *n 1 ~`));
    const text = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (each) => {
        const plain = parseDocument(each, { version: '1.2', schema: 'core', logLevel: 'silent', prettyErrors: false });
        const { document } = guardedYaml(each);
        expect(document?.errors[0]?.message).toBe(plain.errors[0]?.message);
        expect(document?.errors[0]?.pos).toEqual(plain.errors[0]?.pos);
        expect(JSON.stringify(document?.contents)).toBe(JSON.stringify(plain.contents));
      }),
      { numRuns: 1000 },
    );
  });
});
