/** Patches as models, editors and version control write them, from what public trackers report of them. */
export interface PatchCase {
  readonly what: string;
  /** A name that ends with `*` may be run. */
  readonly files: Readonly<Record<string, string>>;
  readonly patch: string;
  /** What there is afterwards, or the code of the refusal: then all is as it was. */
  readonly after: Readonly<Record<string, string>> | string;
  /** Why that is not what `git apply` (2.39) does. */
  readonly notAsGit?: string;
}

const THREE = 'one\ntwo\nthree\n';
const CRLF = 'one\r\ntwo\r\nthree\r\n';
const TEN = 'a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n';
const head = (from: string, to = from) => `--- a/${from}\n+++ b/${to}\n`;
const TWO = '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n';
const DONE = 'one\n2\nthree\n';
const lines = (...all: readonly string[]) => `${all.join('\n')}\n`;

export const PATCH_CASES: readonly PatchCase[] = [
  { what: 'a plain change', files: { 'a.txt': THREE }, patch: head('a.txt') + TWO, after: { 'a.txt': DONE } },
  {
    what: 'words of a mail before and after it',
    files: { 'a.txt': THREE },
    patch: `From: somebody\nSubject: [PATCH] x\n\n a.txt | 2 +-\n\ndiff --git a/a.txt b/a.txt\nindex 1..2 100644\n${head('a.txt')}${TWO}-- \n2.39.5\n\n`,
    after: { 'a.txt': DONE },
  },
  {
    what: 'a line separator in a header, and what would be the end of a mail after it',
    files: {},
    patch: '--- /dev/null\n+++ b/a\u2028-- \n1.0\n@@ -0,0 +1 @@\n+x\n',
    after: { 'a\u2028--': 'x\n' },
    notAsGit: 'the blank at the end of the name is none',
  },
  {
    what: 'the time after a name',
    files: { 'a.txt': THREE },
    patch: `--- a/a.txt\t2026-01-02 03:04:05.000000000 +0100\n+++ b/a.txt\t2026-01-02 03:04:06.000000000 +0100\n${TWO}`,
    after: { 'a.txt': DONE },
  },
  {
    what: 'an Index line of another version control',
    files: { 'a.txt': THREE },
    patch: `Index: a.txt\n${'='.repeat(67)}\n${head('a.txt')}${TWO}`,
    after: { 'a.txt': DONE },
  },
  {
    what: 'blanks in a path',
    files: { 'my dir/a file.txt': THREE },
    patch: `diff --git a/my dir/a file.txt b/my dir/a file.txt\n--- a/my dir/a file.txt\t\n+++ b/my dir/a file.txt\t\n${TWO}`,
    after: { 'my dir/a file.txt': DONE },
  },
  {
    what: 'blanks in the path of a new empty file',
    files: {},
    patch: 'diff --git a/a b.txt b/a b.txt\nnew file mode 100644\nindex 0000000..e69de29\n',
    after: { 'a b.txt': '' },
  },
  {
    what: 'a quoted name in octal',
    files: { 'é.txt': THREE },
    patch: `diff --git "a/\\303\\251.txt" "b/\\303\\251.txt"\n--- "a/\\303\\251.txt"\n+++ "b/\\303\\251.txt"\n${TWO}`,
    after: { 'é.txt': DONE },
  },
  {
    what: 'a quoted name with quotes',
    files: { 'a "b".txt': THREE },
    patch: `--- "a/a \\"b\\".txt"\n+++ "b/a \\"b\\".txt"\n${TWO}`,
    after: { 'a "b".txt': DONE },
  },
  {
    what: 'a quoted name of a rename alone',
    files: { 'é.txt': THREE },
    patch: 'diff --git "a/\\303\\251.txt" b/e.txt\nsimilarity index 100%\nrename from "\\303\\251.txt"\nrename to e.txt\n',
    after: { 'e.txt': THREE },
  },
  {
    what: 'a rename with an edit',
    files: { 'a.txt': THREE },
    patch: `diff --git a/a.txt b/b.txt\nsimilarity index 80%\nrename from a.txt\nrename to b.txt\n${head('a.txt', 'b.txt')}${TWO}`,
    after: { 'b.txt': DONE },
  },
  {
    what: 'a rename into a new folder',
    files: { 'a.txt': THREE },
    patch: 'diff --git a/a.txt b/x/y/a.txt\nsimilarity index 100%\nrename from a.txt\nrename to x/y/a.txt\n',
    after: { 'x/y/a.txt': THREE },
  },
  {
    what: 'two names that change places',
    files: { 'a.txt': 'A\n', 'b.txt': 'B\n' },
    patch:
      'diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n' +
      'diff --git a/b.txt b/a.txt\nsimilarity index 100%\nrename from b.txt\nrename to a.txt\n',
    after: 'patch_invalid',
    notAsGit: 'each file is named once',
  },
  {
    what: 'a copy',
    files: { 'a.txt': THREE },
    patch: 'diff --git a/a.txt b/b.txt\nsimilarity index 100%\ncopy from a.txt\ncopy to b.txt\n',
    after: { 'a.txt': THREE, 'b.txt': THREE },
  },
  {
    what: 'a copy with an edit, and an edit of what was copied',
    files: { 'a.txt': THREE },
    patch:
      `diff --git a/a.txt b/b.txt\nsimilarity index 80%\ncopy from a.txt\ncopy to b.txt\n${head('a.txt', 'b.txt')}${TWO}` +
      `diff --git a/a.txt b/a.txt\n${head('a.txt')}@@ -1,2 +1,2 @@\n-one\n+1\n two\n`,
    after: { 'a.txt': '1\ntwo\nthree\n', 'b.txt': DONE },
  },
  {
    what: 'a new file',
    files: {},
    patch: '--- /dev/null\n+++ b/x/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n',
    after: { 'x/new.txt': 'one\ntwo\n' },
  },
  {
    what: 'a new file with the time after /dev/null',
    files: {},
    patch: '--- /dev/null\t1970-01-01 00:00:00.000000000 +0000\n+++ b/new.txt\t2026-01-01 00:00:00.000000000 +0000\n@@ -0,0 +1 @@\n+one\n',
    after: { 'new.txt': 'one\n' },
  },
  {
    what: 'a new file where there is one',
    files: { 'new.txt': 'old\n' },
    patch: '--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n',
    after: 'target_exists',
  },
  {
    what: 'a new file that may be run',
    files: {},
    patch: 'diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+hi\n',
    after: { 'run*': 'hi\n' },
  },
  {
    what: 'a new file without a newline at its end',
    files: {},
    patch: '--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n\\ No newline at end of file\n',
    after: { 'new.txt': 'one' },
  },
  { what: 'a removal', files: { 'a.txt': 'one\n' }, patch: '--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n', after: {} },
  {
    what: 'a removal of an empty file',
    files: { 'a.txt': '' },
    patch: 'diff --git a/a.txt b/a.txt\ndeleted file mode 100644\nindex e69de29..0000000\n',
    after: {},
  },
  {
    what: 'a removal of a file that has more in it',
    files: { 'a.txt': THREE },
    patch: '--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n',
    after: 'patch_failed',
  },
  {
    what: 'a change that leaves a file empty',
    files: { 'a.txt': 'one\n' },
    patch: `${head('a.txt')}@@ -1 +0,0 @@\n-one\n`,
    after: { 'a.txt': '' },
  },
  {
    what: 'text for an empty file',
    files: { 'a.txt': '' },
    patch: `${head('a.txt')}@@ -0,0 +1 @@\n+one\n`,
    after: { 'a.txt': 'one\n' },
  },
  {
    what: 'a file of which there is none',
    files: {},
    patch: head('a.txt') + TWO,
    after: 'file_unavailable',
  },
  {
    what: 'the right to run, given',
    files: { run: 'x\n' },
    patch: 'diff --git a/run b/run\nold mode 100644\nnew mode 100755\n',
    after: { 'run*': 'x\n' },
  },
  {
    what: 'the right to run that the file has already',
    files: { 'run*': 'x\n' },
    patch: 'diff --git a/run b/run\nold mode 100644\nnew mode 100755\n',
    after: 'patch_failed',
    notAsGit: 'a model would read that it was changed',
  },
  {
    what: 'a hunk that changes nothing',
    files: { 'a.txt': THREE },
    patch: `${head('a.txt')}@@ -1,2 +1,2 @@\n one\n-two\n+two\n`,
    after: 'patch_failed',
    notAsGit: 'a model would read that it was changed',
  },
  {
    what: 'the right to run, taken beside an edit',
    files: { 'run*': THREE },
    patch: `diff --git a/run b/run\nold mode 100755\nnew mode 100644\nindex 1..2\n${head('run')}${TWO}`,
    after: { run: DONE },
  },
  {
    what: 'the right to run stays through a rename with an edit',
    files: { 'a*': THREE },
    patch: `diff --git a/a b/b\nsimilarity index 80%\nrename from a\nrename to b\n${head('a', 'b')}${TWO}`,
    after: { 'b*': DONE },
  },
  {
    what: 'a link',
    files: {},
    patch: 'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n',
    after: 'patch_invalid',
    notAsGit: 'no links are made',
  },
  {
    what: 'a binary file',
    files: { 'a.png': THREE },
    patch: 'diff --git a/a.png b/a.png\nindex 1..2 100644\nBinary files a/a.png and b/a.png differ\n',
    after: 'patch_invalid',
  },
  {
    what: 'a binary file with its bytes',
    files: {},
    patch: 'diff --git a/a.bin b/a.bin\nnew file mode 100644\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n',
    after: 'patch_invalid',
  },
  {
    what: 'CRLF in the file alone',
    files: { 'a.txt': CRLF },
    patch: head('a.txt') + TWO,
    after: { 'a.txt': 'one\r\n2\r\nthree\r\n' },
    notAsGit: 'a model sees no CR',
  },
  {
    what: 'a rename to a name that is taken',
    files: { 'a.txt': THREE, 'b.txt': 'b\n' },
    patch: 'diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n',
    after: 'target_exists',
  },
  {
    what: 'a second file that does not fit: none is changed',
    files: { 'a.txt': THREE, 'b.txt': 'b\n' },
    patch: head('a.txt') + TWO + head('b.txt') + TWO,
    after: 'patch_failed',
  },
  {
    what: 'CRLF in the file and in the lines of the patch',
    files: { 'a.txt': CRLF },
    patch: `${head('a.txt')}@@ -1,3 +1,3 @@\n one\r\n-two\r\n+2\r\n three\r\n`,
    after: { 'a.txt': 'one\r\n2\r\nthree\r\n' },
  },
  {
    what: 'CRLF in all of the patch and not in the file',
    files: { 'a.txt': THREE },
    patch: (head('a.txt') + TWO).replaceAll('\n', '\r\n'),
    after: { 'a.txt': DONE },
    notAsGit: 'a server may send them so',
  },
  {
    what: 'mixed line ends',
    files: { 'a.txt': 'one\r\ntwo\nthree\r\n' },
    patch: head('a.txt') + TWO,
    after: { 'a.txt': 'one\r\n2\nthree\r\n' },
    notAsGit: 'a model sees no CR',
  },
  {
    what: 'mixed line ends of which the patch knows',
    files: { 'a.txt': 'one\r\ntwo\nthree\r\n' },
    patch: `${head('a.txt')}@@ -1,3 +1,3 @@\n one\r\n-two\n+2\n three\r\n`,
    after: { 'a.txt': 'one\r\n2\nthree\r\n' },
  },
  {
    what: 'a byte order mark before the first line',
    files: { 'a.txt': `\uFEFF${THREE}` },
    patch: head('a.txt') + TWO,
    after: { 'a.txt': `\uFEFF${DONE}` },
    notAsGit: 'a model sees no byte order mark',
  },
  {
    what: 'no newline at the end, before and after',
    files: { 'a.txt': 'one\ntwo' },
    patch: `${head('a.txt')}@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n`,
    after: { 'a.txt': 'one\n2' },
  },
  {
    what: 'a newline at the end, added',
    files: { 'a.txt': 'one\ntwo' },
    patch: `${head('a.txt')}@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n`,
    after: { 'a.txt': 'one\ntwo\n' },
  },
  {
    what: 'a newline at the end, taken away',
    files: { 'a.txt': 'one\ntwo\n' },
    patch: `${head('a.txt')}@@ -1,2 +1,2 @@\n one\n-two\n+two\n\\ No newline at end of file\n`,
    after: { 'a.txt': 'one\ntwo' },
  },
  {
    what: 'no newline at the end of which the patch does not know',
    files: { 'a.txt': 'one\ntwo\nthree' },
    patch: head('a.txt') + TWO,
    after: { 'a.txt': 'one\n2\nthree' },
    notAsGit: 'a model does not see whether there is one',
  },
  {
    what: 'the same remark in another language',
    files: { 'a.txt': 'one\ntwo' },
    patch: `${head('a.txt')}@@ -2 +2 @@\n-two\n\\ Kein Zeilenumbruch am Dateiende.\n+2\n\\ Kein Zeilenumbruch am Dateiende.\n`,
    after: { 'a.txt': 'one\n2' },
  },
  {
    what: 'the last line of the patch without its newline',
    files: { 'a.txt': THREE },
    patch: (head('a.txt') + TWO).slice(0, -1),
    after: { 'a.txt': DONE },
    notAsGit: 'a model often leaves it out',
  },
  {
    what: 'an empty line of context without its blank',
    files: { 'a.txt': 'one\n\ntwo\n' },
    patch: `${head('a.txt')}@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n`,
    after: { 'a.txt': 'one\n\n2\n' },
  },
  {
    what: 'tabs and blanks at the end of lines',
    files: { 'a.txt': '\tone  \n  two\n' },
    patch: `${head('a.txt')}@@ -1,2 +1,2 @@\n \tone  \n-  two\n+\ttwo \n`,
    after: { 'a.txt': '\tone  \n\ttwo \n' },
  },
  {
    what: 'context with other white space',
    files: { 'a.txt': '\tone\ntwo\nthree\n' },
    patch: head('a.txt') + TWO,
    after: 'patch_failed',
  },
  {
    what: 'a hunk that lies elsewhere',
    files: { 'a.txt': `x\ny\nz\n${TEN}` },
    patch: `${head('a.txt')}@@ -4,3 +4,3 @@\n d\n-e\n+E\n f\n`,
    after: { 'a.txt': `x\ny\nz\n${TEN.replace('e', 'E')}` },
  },
  {
    what: 'a hunk that fits in two places: the nearest one',
    files: { 'a.txt': 'x\na\nx\nb\nx\na\nx\n' },
    patch: `${head('a.txt')}@@ -5,3 +5,3 @@\n x\n-a\n+A\n x\n`,
    after: { 'a.txt': 'x\na\nx\nb\nx\nA\nx\n' },
  },
  {
    what: 'a hunk of the first line that lies elsewhere',
    files: { 'a.txt': `x\n${THREE}` },
    patch: `${head('a.txt')}@@ -1,2 +1,2 @@\n-one\n+1\n two\n`,
    after: { 'a.txt': 'x\n1\ntwo\nthree\n' },
    notAsGit: 'the lines are there once',
  },
  {
    what: 'lines that do not fit at all',
    files: { 'a.txt': 'one\nzwei\nthree\n' },
    patch: head('a.txt') + TWO,
    after: 'patch_failed',
  },
  {
    what: 'hunks of which the second depends on the lines that the first added',
    files: { 'a.txt': TEN },
    patch: `${head('a.txt')}@@ -1,3 +1,5 @@\n a\n+a1\n+a2\n b\n c\n@@ -8,3 +10,2 @@\n h\n-i\n j\n`,
    after: { 'a.txt': 'a\na1\na2\nb\nc\nd\ne\nf\ng\nh\nj\n' },
  },
  {
    what: 'hunks out of order',
    files: { 'a.txt': TEN },
    patch: `${head('a.txt')}@@ -8,3 +8,3 @@\n h\n-i\n+I\n j\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n`,
    after: { 'a.txt': 'a\nB\nc\nd\ne\nf\ng\nh\nI\nj\n' },
  },
  {
    what: 'hunks that overlap',
    files: { 'a.txt': TEN },
    patch: `${head('a.txt')}@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n`,
    after: 'patch_failed',
  },
  {
    what: 'hunks that share a line of context, of which there is another after them',
    files: { 'a.txt': 'a\nb\nc\nd\nc\nd\nc\n' },
    patch: `${head('a.txt')}@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -3,3 +3,3 @@\n c\n-d\n+D\n c\n`,
    after: { 'a.txt': 'a\nB\nc\nD\nc\nd\nc\n' },
    notAsGit: 'it is clear which lines are meant',
  },
  {
    what: 'hunks that name the same line, each with lines of its own',
    files: { 'a.txt': 'a\nb\nc\nd\ne\nf\ng\n' },
    patch: `${head('a.txt')}@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -1,2 +1,2 @@\n f\n-g\n+G\n`,
    after: { 'a.txt': 'a\nB\nc\nd\ne\nf\nG\n' },
    notAsGit: 'a model often counts lines wrongly',
  },
  {
    what: 'hunks of which the second names a line of the first, one too early',
    files: { 'a.txt': TEN },
    patch: `${head('a.txt')}@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -3,3 +3,3 @@\n d\n-e\n+E\n f\n`,
    after: { 'a.txt': TEN.replace('b', 'B').replace('e', 'E') },
    notAsGit: 'a model often counts lines wrongly',
  },
  {
    what: 'lines without context beyond the end',
    files: { 'a.txt': THREE },
    patch: `${head('a.txt')}@@ -9,0 +10 @@\n+ten\n`,
    after: { 'a.txt': `${THREE}ten\n` },
  },
  {
    what: 'lines without context that lie beyond the end after the hunk before them is found',
    files: { 'a.txt': THREE },
    patch: `${head('a.txt')}@@ -1 +1 @@\n-three\n+3\n@@ -2,0 +3 @@\n+four\n`,
    after: 'patch_failed',
  },
  {
    what: 'hunks that take the same lines twice',
    files: { 'a.txt': TEN },
    patch: `${head('a.txt')}@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -1,2 +1,2 @@\n a\n-b\n+C\n`,
    after: 'patch_failed',
  },
  {
    what: 'a header of a hunk with the name of a function',
    files: { 'a.txt': THREE },
    patch: `${head('a.txt')}${TWO.replace('@@\n', '@@ function main() {\n')}`,
    after: { 'a.txt': DONE },
  },
  {
    what: 'a header of a hunk without numbers',
    files: { 'a.txt': THREE },
    patch: `${head('a.txt')}@@ ... @@\n one\n-two\n+2\n three\n`,
    after: 'patch_invalid',
  },
  {
    what: 'a count that is too small',
    files: { 'a.txt': THREE },
    patch: (head('a.txt') + TWO).replace('-1,3 +1,3', '-1,2 +1,2'),
    after: 'patch_invalid',
  },
  {
    what: 'a count that is too large',
    files: { 'a.txt': THREE },
    patch: (head('a.txt') + TWO).replace('-1,3 +1,3', '-1,4 +1,4'),
    after: 'patch_invalid',
  },
  {
    what: 'a combined diff of a merge',
    files: { 'a.txt': THREE },
    patch: `diff --cc a.txt\nindex 1,2..3\n${head('a.txt')}@@@ -1,3 -1,3 +1,3 @@@\n  one\n- two\n -two\n++2\n  three\n`,
    after: 'patch_invalid',
  },
  {
    what: 'a line that begins with two dashes',
    files: { 'a.sql': 'a\n-- b\nc\n' },
    patch: `${head('a.sql')}@@ -1,3 +1,3 @@\n a\n--- b\n+-- B\n c\n`,
    after: { 'a.sql': 'a\n-- B\nc\n' },
  },
  {
    what: 'a line that begins with two plus signs',
    files: { 'a.txt': 'a\n' },
    patch: `${head('a.txt')}@@ -1 +1,2 @@\n a\n+++ b\n`,
    after: { 'a.txt': 'a\n++ b\n' },
  },
  {
    what: 'lines like headers in what is added',
    files: { 'a.md': 'x\n' },
    patch: `${head('a.md')}@@ -1 +1,4 @@\n x\n+diff --git a/b b/b\n+--- a/b\n+@@ -1 +1 @@\n`,
    after: { 'a.md': 'x\ndiff --git a/b b/b\n--- a/b\n@@ -1 +1 @@\n' },
  },
  {
    what: 'one file in two sections',
    files: { 'a.txt': TEN },
    patch: `${head('a.txt')}@@ -1 +1 @@\n-a\n+A\n${head('a.txt')}@@ -10 +10 @@\n-j\n+J\n`,
    after: 'patch_invalid',
    notAsGit: 'a person reads one change of each file',
  },
  {
    what: 'a fence of Markdown around it',
    files: { 'a.txt': THREE },
    patch: `\`\`\`diff\n${head('a.txt')}${TWO}\`\`\`\n`,
    after: { 'a.txt': DONE },
  },
  {
    what: 'letters of many scripts, combined and not, quotes of typesetters',
    files: { 'a.txt': 'e\u0301 “x” 日本 👩‍👩‍👧\nrest\n' },
    patch: `${head('a.txt')}@@ -1,2 +1,2 @@\n-e\u0301 “x” 日本 👩‍👩‍👧\n+é “y” 日本 👩‍👩‍👧\n rest\n`,
    after: { 'a.txt': 'é “y” 日本 👩‍👩‍👧\nrest\n' },
  },
  {
    what: 'the same letter written in another way',
    files: { 'a.txt': 'e\u0301\nrest\n' },
    patch: `${head('a.txt')}@@ -1,2 +1,2 @@\n-é\n+e\n rest\n`,
    after: 'patch_failed',
  },
  {
    what: 'separators that end a line elsewhere only',
    files: { 'a.txt': 'one\u2028still\ftwo\u0085x\n' },
    patch: `${head('a.txt')}@@ -1 +1,2 @@\n one\u2028still\ftwo\u0085x\n+more\u2029x\n`,
    after: { 'a.txt': 'one\u2028still\ftwo\u0085x\nmore\u2029x\n' },
  },
  {
    what: 'a path that leaves the folder',
    files: {},
    patch: '--- /dev/null\n+++ b/../out.txt\n@@ -0,0 +1 @@\n+x\n',
    after: 'file_unavailable',
  },
  {
    what: 'an absolute path',
    files: {},
    patch: '--- /dev/null\n+++ /tmp/out.txt\n@@ -0,0 +1 @@\n+x\n',
    after: 'file_unavailable',
    notAsGit: 'no folder is taken off',
  },
  {
    what: 'names without prefixes',
    files: { 'a.txt': THREE },
    patch: `--- a.txt\n+++ a.txt\n${TWO}`,
    after: { 'a.txt': DONE },
    notAsGit: 'a folder is taken off by -p1',
  },
  {
    what: 'other prefixes of git',
    files: { 'i/a.txt': THREE, 'w/a.txt': THREE },
    patch: `--- i/a.txt\n+++ w/a.txt\n${TWO}`,
    after: 'target_exists',
    notAsGit: 'only a/ and b/ are prefixes',
  },
  { what: 'a patch without a file', files: {}, patch: '@@ -1 +1 @@\n-a\n+b\n', after: 'patch_invalid' },
  { what: 'an empty patch', files: {}, patch: '\n', after: 'patch_invalid' },
  {
    what: 'the format of another tool',
    files: { 'a.txt': THREE },
    patch: lines('*** Begin Patch', '*** Update File: a.txt', '@@', '-two', '+2', '*** End Patch'),
    after: 'patch_invalid',
  },
  {
    what: 'a context diff',
    files: { 'a.txt': THREE },
    patch: lines('*** a/a.txt', '--- b/a.txt', '***************', '*** 1,3 ****', '  one', '! two', '--- 1,3 ----', '  one', '! 2'),
    after: 'patch_invalid',
  },
];
