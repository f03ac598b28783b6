import { expect, it } from 'vitest';
import { PithError } from '../../../core/contract/index.ts';
import { describeError } from '../../../core/cli/index.ts';

it.each(['EMFILE', 'ENFILE'])('K7 says how to mend that no more files can be opened (%s)', (code) => {
  const error = Object.assign(new Error(`${code}: too many open files, open '/a'`), { code });
  expect(describeError(error)).toBe(`pith: ${error.message}; allow more open files, such as with \`ulimit -n 1024\``);
});

it('K7 keeps the cure that a failure brings', () => {
  const error = new PithError('internal', 'the thing failed', { where: '/a', cure: 'fix it' });
  expect(describeError(error)).toBe('pith: /a: the thing failed; fix it');
  const unread = new PithError('internal', 'is not valid YAML: a tab', { where: '/a:1' });
  expect(describeError(unread)).toBe('pith: /a:1: is not valid YAML: a tab');
  expect(describeError(new Error('plain.'))).toBe('pith: plain');
});
