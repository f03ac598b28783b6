import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { listFiles } from '@pith/project-files';
import { Jail } from '@pith/safe-files';
import { folderWith, writeFiles } from '../../places.ts';

const FOLDERS = process.env['PITH_TEST_LONG'] === '1' ? 4000 : 150;
const { signal } = new AbortController();

/** What the documentation of git and the trackers of its readers are about. */
const KNOWN: readonly (readonly [rules: string, files: readonly string[]])[] = [
  ['a[/', ['a[/x', 'a', 'b']],
  ['a[', ['a[', 'a', 'b']],
  ['[!a]*', ['a', 'ab', 'ba', 'b', '.c']],
  ['[^a]', ['a', 'b', '^']],
  ['[[:upper:]]*\n[[:digit:][:space:]]', ['A', 'a', '1', ' ', 'Ab']],
  ['[[:wrong:]]\n[[:alpha:]\n[[:]', ['a', ':', '[', 'w']],
  ['[]a]', ['a', ']', 'b', '[a]', 'a]']],
  ['[]-a]\n[a-]\n[!]b]x', [']', '^', '_', '`', 'a', '-', 'b', ']x', 'bx', 'cx']],
  ['\\?\n\\*\n\\[x]', ['?', '*', 'x', 'a', '[x]']],
  ['\\!a\n\\#b\n#c\n!d', ['!a', '#b', '#c', 'c', 'd']],
  ['a\\', ['a', 'a\\']],
  ['a\\ \nb \nc\\  ', ['a ', 'a', 'b', 'b ', 'c ', 'c']],
  ['Case.txt\nLOG/', ['case.txt', 'Case.txt', 'log/x', 'LOG/x']],
  ['a/**/b\n**/c\nd/**\n/e/**/', ['a/b', 'a/x/b', 'a/x/y/b', 'c', 'x/c', 'd/x', 'd/y/z', 'e/f/g', 'e/h']],
  ['a**/b\nx/**y', ['a/b', 'ab/b', 'a/x/b', 'az/x/b', 'x/y', 'x/zy', 'x/z/y']],
  ['**\n!*/\n!keep.md', ['a', 'b/keep.md', 'keep.md', 'b/c']],
  ['/*\n!/src\n/src/*\n!/src/keep', ['a', 'src/b', 'src/keep', 'c/d']],
  ['out/\n!out/x', ['out/x', 'a/out/y', 'b/out']],
  ['a//\n//b\n/\n!\n!/', ['a/x', 'b', 'c/d']],
  ['\uFEFFmarked\r\nb.log\r\n', ['marked', 'b.log', 'c']],
  ['?\n??x', ['é', 'a', 'éx', 'ab', 'abx']],
  ['[é]\n[à-ü]', ['é', 'ä', 'a']],
  ['x\0y\nz', ['x', 'z', 'y']],
  ['*.a\\\n*b', ['x.a', 'xb', 'x.a\\']],
];

const part = fc.constantFrom(
  ...'a b A ab . x.js * ** ? / / ! # \\ - ] [ [a] [!a] [^b] [a-b] []a] [[:upper:]] [[:alpha:] [a\\]] \\* \\? **/ /** é'.split(' '),
  ' ',
  '\\ ',
);
const line = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''));
const rules = fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n'));
const name = fc.constantFrom('a', 'b', 'A', 'ab', 'ba', 'x.js', '.a', '*', '?', '[', ']', '!', '#a', '-', 'a b', 'a ', 'é', 'abab');
const file = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
const folders = fc.tuple(rules, fc.uniqueArray(file, { minLength: 4, maxLength: 12 }));

it('E4 without git the rules of .gitignore say what git says, also those that nobody can read', async () => {
  const made = [...KNOWN, ...fc.sample(folders, { seed: 4, numRuns: FOLDERS })].map(
    ([text, files]) => [text, files.filter((each) => !files.some((other) => other.startsWith(`${each}/`)))] as const,
  );
  const root = realpathSync(folderWith());
  for (const [index, [text, files]] of made.entries())
    writeFiles(root, { [`${index}/.gitignore`]: text, ...Object.fromEntries(files.map((each) => [`${index}/${each}`, ''])) });
  const walked = (await listFiles(new Jail(root), { most: 1_000_000, useGit: false }, signal)).paths;
  execFileSync('git', ['init', '-q'], { cwd: root });
  const listed = execFileSync('git', ['-c', 'core.excludesFile=', 'ls-files', '-zo', '--exclude-standard'], { cwd: root }).toString();
  const inFolder = (paths: readonly string[], index: number) =>
    paths.filter((each) => each.startsWith(`${index}/`) && !each.endsWith('/.gitignore')).map((each) => each.slice(`${index}/`.length));
  const byGit = listed.split('\0').sort();
  const wrong = made.flatMap(([text], index) => {
    const [ours, gits] = [inFolder(walked, index), inFolder(byGit, index)];
    return JSON.stringify(ours) === JSON.stringify(gits) ? [] : [{ text, ours, gits }];
  });
  expect(wrong).toEqual([]);
  const places = KNOWN.flatMap(([, files], index) =>
    files.flatMap((each) => [each, each.split('/')[0] ?? '']).map((each) => `${index}/${each}`),
  );
  for (const place of places) {
    const { paths } = await listFiles(new Jail(root), { most: 99, useGit: false, below: place.split('/') }, signal);
    expect(paths, place).toEqual(byGit.filter((each) => `${each}/`.startsWith(`${place}/`)));
  }
  expect(walked.length).toBeGreaterThan(FOLDERS);
});
