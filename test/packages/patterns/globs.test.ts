import { globMatcher } from '@pith/patterns';
import { describe, expect, it } from 'vitest';

describe('globs', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['*.ts', ['a.ts', 'src/a.ts', '.ts', 'src/.a.ts'], ['a.tsx', 'ts', 'a.ts/b']],
    ['./*.ts', ['a.ts', 'src/a.ts'], []],
    ['/src/*.ts', ['src/a.ts'], ['src/b/a.ts', 'a.ts']],
    ['**', ['a', 'a/b', '.a/.b'], []],
    ['**/*', ['a', 'a/b'], []],
    ['src/**', ['src/a', 'src/a/b'], ['src', 'lib/src/a']],
    ['src/**/*.ts', ['src/a.ts', 'src/b/c/a.ts'], ['a.ts', 'src/a.js']],
    ['**/test/**', ['test/a', 'a/test/b/c'], ['test', 'a/tests/b']],
    ['a**b', ['ab', 'axxb', 'x/ab'], ['a/b']],
    ['*.{ts,tsx}', ['a.ts', 'b/a.tsx'], ['a.js']],
    ['{src,lib}/**/{a,b{1,2}}.ts', ['src/a.ts', 'lib/x/b2.ts'], ['src/b.ts', 'a.ts']],
    ['{a}.{,b}', ['{a}.', '{a}.b'], ['a.b']],
    ['a?c', ['abc', 'a💥c'], ['ac', 'abbc', 'a/c']],
    ['[a-c]x[!0-9]', ['axy', 'cx_'], ['dxy', 'ax1']],
    ['[]a]', [']', 'a'], ['b']],
    ['[^a]b', ['cb'], ['ab']],
    ['[a', [], ['a', '[a']],
    ['[[:digit:]_]x', ['1x', '_x'], ['ax']],
    ['\\*\\[', ['*['], ['a[']],
    ['(a|b)+.*', ['(a|b)+.x'], ['a.x']],
    ['$a^.txt', ['$a^.txt'], []],
    ['README', ['README', 'a/README'], ['README.md', 'readme']],
  ])('%s', (glob, yes, no) => {
    const isWanted = globMatcher(glob);
    expect(yes.filter((each) => !isWanted(each))).toEqual([]);
    expect(no.filter(isWanted)).toEqual([]);
  });

  it('V10: no pattern takes long, whatever it is held against', () => {
    const name = 'a'.repeat(255);
    for (const glob of [
      `${'*a'.repeat(120)}b`,
      `${'?*'.repeat(100)}b`,
      `${'[a-z]*'.repeat(60)}0`,
      `${'**/a/'.repeat(60)}b`,
      `{${'*a0,'.repeat(100)}*b}`,
    ]) {
      const isWanted = globMatcher(glob);
      for (let at = 0; at < 20; at += 1) expect(isWanted(`${'a/'.repeat(100)}${name}`)).toBe(false);
    }
    expect(() => globMatcher('{a,b}'.repeat(30))).toThrow('too many alternatives');
  });
});
