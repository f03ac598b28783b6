import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { givenLine, givenWords } from '../../../sandbox/extensions/recipes/given.ts';
import { render, variablesIn } from '../../../sandbox/extensions/recipes/fill.ts';

const values = (entries: Readonly<Record<string, string>>) => new Map(Object.entries(entries));

describe('the text of a recipe', () => {
  it('S92 knows {{name}} and nothing else', () => {
    const text = '{{ a }}{{a}} {{b-c}} {{ a | upper }} {% if a %}{{#a}}{{}} {{1}} ${a} {a} {{{a}}} $& <%= a %>';
    expect(render(text, values({ a: 'A', 'b-c': 'B' }))).toBe('AA B {{ a | upper }} {% if a %}{{#a}}{{}} {{1}} ${a} {a} {A} $& <%= a %>');
    expect([...variablesIn(text).keys()]).toEqual(['a', 'b-c']);
  });

  it('S92 a backslash keeps the braces, two are one before the value', () => {
    const text = String.raw`\{{a}} \\{{a}} \{{ b }} C:\\{{a}} \n`;
    expect(render(text, values({ a: 'A' }))).toBe(String.raw`{{a}} \A {{ b }} C:\A \n`);
    expect([...variablesIn(text).keys()]).toEqual(['a']);
  });

  it('S92 values go in byte for byte and are never looked at again', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .array(fc.constantFrom('{{a}}', '{{ b }}', '\\', '{{', '}}', '$&', '$1', "$'", '$$', '\0', '\r\n', '{% x %}'))
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        expect(render('[{{a}}|{{b}}|{{a}}]', values({ a, b }))).toBe(['[', a, '|', b, '|', a, ']'].join(''));
      }),
    );
  });

  it('S92 takes pairs first and the rest of the line as it stands', () => {
    const of = (line: string) => {
      const { pairs, text } = givenLine(line);
      return [pairs.map(([name, value]) => `${name}→${value}`), text];
    };
    expect(of('a=1 b="two words" c=\'it is\' d= say  "this"  x=1 --json')).toEqual([
      ['a→1', 'b→two words', 'c→it is', 'd→'],
      'say  "this"  x=1 --json',
    ]);
    expect(of('a="say \\"hi\\"" b=x=y c=a\\ b')).toEqual([['a→say "hi"', 'b→x=y', 'c→a b'], '']);
    expect(of('a="never closed rest')).toEqual([[], 'a="never closed rest']);
    expect(of('2=3 is wrong')).toEqual([[], '2=3 is wrong']);
    expect(of('')).toEqual([[], '']);
    expect(givenWords(['a=1', 'b=two words', 'free text', 'c=3'])).toEqual({
      pairs: [
        ['a', '1'],
        ['b', 'two words'],
      ],
      text: 'free text c=3',
    });
  });
});
