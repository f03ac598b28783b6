import { expect, it } from 'vitest';
import { isAdmin, userIn } from '../../../core/declarations/index.ts';

it('who uses a process is PITH_USER, else local; what names nobody is wrong use', () => {
  expect([userIn({}), userIn({ PITH_USER: '' }), userIn({ PITH_USER: 'ada@example.org' })]).toEqual(['local', 'local', 'ada@example.org']);
  for (const wrong of ['a b', '-a', 'a/b', 'x'.repeat(65), 'a\nb'])
    expect(() => userIn({ PITH_USER: wrong })).toThrow('PITH_USER cannot be');
});

it('administrators are those of the settings; where there are none, whoever does not say another name', () => {
  expect([isAdmin([], 'local'), isAdmin([], 'ada'), isAdmin(['ada'], 'ada'), isAdmin(['ada'], 'local')]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});
