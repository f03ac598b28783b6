import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSecrets } from '../../../core/trust/index.ts';

const env = { ONE: 'abcabcab', TWO: 'abcabcabXYZ', THREE: 'zz/zz+zz"z' };
const secrets = createSecrets(env);
secrets.declare(Object.keys(env));

function streamed(pieces: readonly string[]): string {
  const stream = secrets.stream();
  if (stream === null) throw new Error('no secret is declared');
  return pieces.map((piece) => stream.feed(piece)).join('') + stream.end();
}

describe('a stream that is cleaned of secrets', () => {
  it('K61 says the same as the whole text would, however it is cut', () => {
    const part = fc.constantFrom(...Object.values(env), JSON.stringify(env.THREE), 'ab', 'abcabc', 'z', '/', 'XYZ', ' ', 'hello');
    const text = fc.array(part, { maxLength: 12 }).map((parts) => `${parts.join('')}.`); // ends in no beginning
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 40 }), (whole, lengths) => {
        const pieces: string[] = [];
        for (let at = 0, round = 0; at < whole.length; round += 1) {
          const length = lengths[round % lengths.length] ?? 1;
          pieces.push(whole.slice(at, at + length));
          at += length;
        }
        const said = streamed(pieces);
        for (const value of Object.values(env)) expect(said).not.toContain(value);
        expect(said).toBe(secrets.redact(whole));
      }),
      { numRuns: 2000 },
    );
  });

  it('K61 holds back only what may be the beginning of a secret', () => {
    const stream = secrets.stream()!;
    expect(stream.feed('hello ')).toBe('hello ');
    expect(stream.feed('abc')).toBe('');
    expect(stream.feed('d')).toBe('abcd');
    expect(stream.feed('abcabcab')).toBe('');
    expect(stream.feed('.')).toBe('[secret ONE].');
  });

  it('K61 most of a secret is as good as all of it when the text breaks off', () => {
    expect(streamed(['key abcabcabXY'])).toMatch(/^key \[secret (?:ONE|TWO)\]/u);
    expect(streamed(['abcabc'])).toMatch(/\[secret/u);
    expect(streamed(['abc'])).toBe('abc');
  });
});
