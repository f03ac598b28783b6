import { expect, it } from 'vitest';
import { withLineEndsOf } from '@pith/text-changes';

it.each([
  ['all with LF: as given', 'a\nb\n', 'a\r\nb\r\n', 'a\r\nb\r\n'],
  ['all with CR LF', 'a\r\nb\r\n', 'x\ny\nz', 'x\r\ny\r\nz'],
  ['none yet: as given', '', 'x\r\ny\r\n', 'x\r\ny\r\n'],
  ['mixed: a line that stays keeps its end', 'a\r\nb\nc\r\n', 'b\nc\n', 'b\nc\r\n'],
  ['mixed: a line that is replaced passes its end on', 'a\r\nb\nc\r\n', 'a\nB\nC\n', 'a\r\nB\nC\r\n'],
  ['mixed: a new line ends like the line before it', 'a\r\nb\n', 'a\nnew\nb\n', 'a\r\nnew\r\nb\n'],
  ['mixed: a new first line ends like the next one', 'a\r\nb\n', 'new\na\nb\n', 'new\r\na\r\nb\n'],
])('U2 E3 line ends of a former text, %s', (_what, former, text, after) => {
  expect(withLineEndsOf(former, text)).toBe(after);
});

it('U2 E3 a text of which all is another takes mixed line ends in their order', () => {
  const former = Array.from({ length: 1200 }, (_, index) => `${index}${index % 2 === 0 ? '\r\n' : '\n'}`).join('');
  const after = withLineEndsOf(former, former.replaceAll(/\d+/gu, 'x').replaceAll('\r', ''));
  expect(after).toBe(former.replaceAll(/\d+/gu, 'x'));
});
