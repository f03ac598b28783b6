import { expect, it } from 'vitest';
import { applyEdits } from '../../../sandbox/extensions/project_tools/changes/edits.ts';
import { editedBytes } from '../../../sandbox/extensions/project_tools/changes/text-change.ts';

type Case = readonly [what: string, before: string, edits: readonly (readonly [old: string, next: string, all?: 'all'])[], after: string];

/** From what public trackers report of tools that replace text. A refusal is its code and a part of what it says. */
const CASES: readonly Case[] = [
  ['one line', 'a\nb\nc\n', [['b', 'B']], 'a\nB\nc\n'],
  ['signs that mean something to a pattern', 'f(x.*)[0] + $1\n', [['(x.*)[0] + $1', '()']], 'f()\n'],
  ['signs that mean something in a replacement', 'x\n', [['x', "$& $1 $$ $` $' \\n \\1"]], "$& $1 $$ $` $' \\n \\1\n"],
  ['escapes stay as they are written', "a = '\\u00e9\\n'\n", [["'\\u00e9\\n'", "'\\t'"]], "a = '\\t'\n"],
  ['no newline at the end stays so', 'a\nb', [['b', 'c']], 'a\nc'],
  ['a newline at the end is written where it is asked for', 'a\nb', [['b', 'c\n']], 'a\nc\n'],
  ['a newline at the end is taken away where it is asked for', 'a\nb\n', [['b\n', 'b']], 'a\nb'],
  ['all of a text', 'a\nb\n', [['a\nb\n', '']], ''],
  ['a line with its newline', 'a\nb\nc\n', [['b\n', '']], 'a\nc\n'],
  [
    'edits one after the other',
    'a\n',
    [
      ['a', 'b'],
      ['b', 'c'],
    ],
    'c\n',
  ],
  [
    'the last of several does not fit: none counts',
    'a\nb\n',
    [
      ['a', 'A'],
      ['x', 'X'],
    ],
    'edit_no_match: old_text of edit 2',
  ],
  ['many places', 'x\ny\nx\n', [['x', 'z']], "edit_many_matches: occurs 2 times in 'a.txt', on lines 1, 3;"],
  ['many places, all', 'x\ny\nx\n', [['x', 'z', 'all']], 'z\ny\nz\n'],
  [
    'T25 places on one line',
    'aaa\n',
    [['aa', 'b']],
    "edit_many_matches: occurs 2 times in 'a.txt', all on line 1; add more of that line so that it occurs once, or set all",
  ],
  ['T25 some of them on one line', 'aa\na\n', [['a', 'b']], "edit_many_matches: occurs 3 times in 'a.txt', on lines 1, 2;"],
  ['blocks that overlap', '}\n}\n}\n', [['}\n}\n', '}\n']], 'edit_many_matches: occurs 2 times'],
  ['places that overlap, all: from the left', 'aaaaa\n', [['aa', 'b', 'all']], 'bba\n'],
  ['very many places', 'a'.repeat(1000), [['aa', 'b']], 'edit_many_matches: occurs 100 or more times'],
  ['nothing to do', 'a\n', [['a', 'a']], 'edit_empty: old_text and new_text are the same'],
  ['nothing to do but line ends', 'a\nb\n', [['a\r\nb', 'a\nb']], 'edit_empty: the same'],
  ['CRLF, of which the model does not know', 'a\r\nb\r\nc\r\n', [['a\nb', 'x\ny\nz']], 'x\r\ny\r\nz\r\nc\r\n'],
  ['CRLF, of which the model knows', 'a\r\nb\r\n', [['a\r\nb', 'x\r\ny']], 'x\r\ny\r\n'],
  ['CRLF in the call and not in the file', 'a\nb\nc\n', [['a\r\nb', 'x\r\ny\r\nz']], 'x\ny\nz\nc\n'],
  ['mixed ends: each line keeps its own', 'a\r\nb\nc\r\nd\n', [['a\nb\nc', 'A\nB\nC']], 'A\r\nB\nC\r\nd\n'],
  ['mixed ends: a new line ends as the place', 'a\r\nb\nc\r\n', [['a\nb\n', 'a\nb\nnew\n']], 'a\r\nb\nnew\nc\r\n'],
  ['mixed ends: a new line within one line', 'a\r\nb\nc\r\n', [['c', 'c1\nc2']], 'a\r\nb\nc1\r\nc2\r\n'],
  ['mixed ends: lines go, the others keep theirs', 'a\r\nb\nc\r\nd\n', [['b\nc\n', '']], 'a\r\nd\n'],
  ['mixed ends: everywhere', 'x\ny\r\nx\r\ny\n', [['x\ny', 'X\nY', 'all']], 'X\nY\r\nX\r\nY\n'],
  [
    'mixed ends: two edits',
    'a\r\nb\nc\r\n',
    [
      ['a\n', ''],
      ['b\nc', 'b\nB\nc'],
    ],
    'b\nB\nc\r\n',
  ],
  ['mixed ends: the same line before and after, the first goes', 'x\r\nkeep\r\nx\nend\n', [['x\r\nkeep\r\n', '']], 'x\nend\n'],
  ['mixed ends: the same last line twice, the first goes', '}\r\nfoo\n}\n', [['}\nfoo\n', '']], '}\n'],
  ['mixed ends: a new last line ends like the one before', 'a\nb\r\nc', [['c', 'c\nd']], 'a\nb\r\nc\r\nd'],
  ['a CR alone before a line end', 'a\r\r\nb\r\n', [['a\r\r\nb', 'c\nd']], 'c\r\nd\r\n'],
  ['a CR of a line end is no CR alone', 'a\r\na\rb\n', [['a\r', 'c']], 'a\r\ncb\n'],
  ['a CR alone is no line end', 'a\rb\n', [['a\rb', 'a\rc']], 'a\rc\n'],
  ['a byte order mark stays', '\uFEFFa\nb\n', [['a\nb', 'A\nB']], '\uFEFFA\nB\n'],
  ['separators that end a line elsewhere', 'a\u2028b\u0085c\n', [['b\u0085', 'B']], 'a\u2028Bc\n'],
  ['characters of two units', 'x 👩‍👩‍👧 y\n', [['👩‍👩‍👧', '🦄']], 'x 🦄 y\n'],
  ['tabs where there are blanks', '\tif x:\n\t\ty\n', [['    if x:', 'if y:']], 'edit_no_match: line 1 differs only in white space'],
  [
    'another indentation of what follows',
    'if x:\n\ty\n',
    [['if x:\n  y', 'z']],
    'edit_no_match: line 1 differs only in white space, or what follows',
  ],
  ['the numbers of read_file', 'a\nb\n', [['     2\tb', 'c']], 'edit_no_match: the numbers before the lines are not part'],
  [
    'quotes of typesetters',
    'say “hi”\n',
    [['say "hi"', 'x']],
    'edit_no_match: line 1 only looks like it and has other characters (U+201C, U+201D)',
  ],
  ['a dash', 'a – b\n', [['a - b', 'x']], 'edit_no_match: has other characters (U+2013)'],
  ['a blank that does not break', 'a\u00a0b\n', [['a b', 'x']], 'edit_no_match: line 1 differs only in white space'],
  ['letters composed in another way', 'cafe\u0301\n', [['café', 'x']], 'edit_no_match: has other characters (U+0065, U+0301)'],
  ['what nobody sees', 'a\u200bb\n', [['ab', 'x']], 'edit_no_match: has other characters (U+200B)'],
  ['another case', 'Hello\n', [['hello', 'x']], 'edit_no_match: read the file and copy it exactly'],
  ['an empty file', '', [['a', 'b']], 'edit_no_match: read the file'],
];

/** The text, or the code and the words of the refusal. */
function outcomeOf(before: string, edits: Case[2]): string {
  try {
    const asked = edits.map(([old_text, new_text, all]) => ({ old_text, new_text, all: all === 'all' }));
    return editedBytes(before, applyEdits('a.txt', before, asked)).toString();
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code}: ${message}`;
  }
}

it.each(CASES)('E3 E6 %s', (_what, before, edits, after) => {
  const outcome = outcomeOf(before, edits);
  const [code = '', part = ''] = /^(edit_\w+: )(.*)$/su.exec(after)?.slice(1) ?? [];
  const asWanted =
    code === '' ? outcome === after : outcome.startsWith(code) && outcome.includes(part) && outcome.endsWith('. Nothing was changed');
  expect(asWanted ? after : outcome).toBe(after);
});
