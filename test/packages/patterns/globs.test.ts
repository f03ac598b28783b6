import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { globMatcher, ignoreRules } from '@pith/patterns';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

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
    ['[a', ['[a'], ['a']],
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
    const rules = ignoreRules(`${'*a'.repeat(120)}b\n`.repeat(50));
    expect(rules([name], false)).toBe(null);
  });
});

const NAMES = ['a', 'b', 'ab', 'a.log', '.a', 'A', 'a b', '#a', '!a', 'a]', 'x1'];

/** What git says: the paths that it ignores. */
function ignoredByGit(folder: string, text: string, paths: readonly string[]): readonly string[] {
  const input = paths.join('\0');
  const args = ['-c', `core.excludesFile=/dev/null`, 'check-ignore', '-z', '--no-index', '--stdin'];
  writeFileSync(path.join(folder, '.gitignore'), text);
  try {
    return execFileSync('git', args, { cwd: folder, input, stdio: ['pipe', 'pipe', 'ignore'] })
      .toString()
      .split('\0')
      .filter(Boolean);
  } catch {
    return []; // none
  }
}

function ignoredByUs(text: string, paths: readonly string[]): readonly string[] {
  const rules = ignoreRules(text);
  return paths.filter((each) => {
    const names = each.split('/');
    for (let at = 1; at <= names.length; at += 1) if (rules(names.slice(0, at), at < names.length) === 'ignored') return true;
    return false;
  });
}

const paths = [...NAMES, ...NAMES.map((name) => `a/${name}`), ...NAMES.map((name) => `b/ab/${name}`)];
describe('rules of .gitignore', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pith-globs-'));
  beforeAll(() => void execFileSync('git', ['init', '-q'], { cwd: folder }));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    '*.log',
    '/a',
    'a/',
    'a/*',
    'a/**',
    '**/a',
    'b/**/a',
    '**/ab/**',
    'b/**',
    '*\n!a',
    'a/*\n!a/b',
    '!a\na',
    '\\#a',
    '\\!a',
    '#a',
    'a\\ b',
    'a b   ',
    'a b\\ ',
    'A',
    '[a-b]',
    '[!a]',
    '[^a]*',
    'a\\]',
    'a]',
    '[a',
    '?',
    'x[[:digit:]]',
    'x[[:alpha:]]',
    'a/b/',
    '/b/ab',
    'b/ab',
    '**',
    '*/a',
    '/**/a',
    'a**',
    '**b',
    '/',
    '//a',
    'a//b',
    '\ta',
    'a\r',
    ' a',
    '*\n!*/\n!*.log',
    'b/*\n!b/ab\nb/ab/*\n!b/ab/a',
    '\\a',
    'a\\',
  ])('%j means what it means to git', (text) => {
    expect(ignoredByUs(`${text}\n`, paths)).toEqual(ignoredByGit(folder, `${text}\n`, paths));
  });

  it('any rules mean what they mean to git', { timeout: 120_000 }, () => {
    const part = fc.constantFrom('a', 'b', '*', '**', '?', '/', '[ab]', '[!a]', '.log', '!', ' ', '#', '\\', 'ab', '1');
    const line = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''));
    const numRuns = process.env['PITH_TEST_LONG'] === undefined ? 40 : 2000;
    const check = (lines: readonly string[]): void => {
      const text = `${lines.join('\n')}\n`;
      expect(ignoredByUs(text, paths)).toEqual(ignoredByGit(folder, text, paths));
    };
    fc.assert(fc.property(fc.array(line, { minLength: 1, maxLength: 3 }), check), { numRuns });
  });
});
