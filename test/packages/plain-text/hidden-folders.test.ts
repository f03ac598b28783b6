import { hiddenFolders } from '@pith/plain-text';
import { expect, it } from 'vitest';

it('W3 W31 folders are shown by their names, the inner ones first, in texts, keys and lists, and others stay', () => {
  const hidden = hiddenFolders({ home: '/home/ann', project: '/home/ann/a.b', nothing: null, root: '/' });
  expect(hidden('in /home/ann/a.b/x and /home/ann: not /home/anna, /home/ann/aXb or /home/ann-1')).toBe(
    'in project/x and home: not /home/anna, home/aXb or /home/ann-1',
  );
  expect(hidden({ '/home/ann/x': ['/home/ann/a.b', 7, null] })).toEqual({ 'home/x': ['project', 7, null] });
  expect(hidden('https://x.org/home/ann/x, file:///home/ann/x, /mnt/home/ann')).toBe(
    'https://x.org/home/ann/x, file://home/x, /mnt/home/ann',
  );
  expect(hidden('It is in /home/ann.')).toBe('It is in home.');
});
