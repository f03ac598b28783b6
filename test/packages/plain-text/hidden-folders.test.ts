import { hiddenFolders } from '@pith/plain-text';
import { expect, it } from 'vitest';

it('W3 W31 folders are shown by their names, the inner ones first, in texts, keys and lists, and others stay', () => {
  const places = { home: '/places/ann', project: '/places/ann/a.b', sandbox: '/', shippedSandbox: '/opt/pith/sandbox', data: '/var/pith' };
  const hidden = hiddenFolders(places);
  expect(hidden('in /places/ann/a.b/x and /places/ann: not /places/anna, /places/ann/aXb or /places/ann-1')).toBe(
    'in project/x and home: not /places/anna, home/aXb or /places/ann-1',
  );
  expect(hidden({ '/places/ann/x': ['/places/ann/a.b', 7, null] })).toEqual({ 'home/x': ['project', 7, null] });
  expect(hidden('https://x.org/places/ann/x, file:///places/ann/x, /mnt/places/ann')).toBe(
    'https://x.org/places/ann/x, file://home/x, /mnt/places/ann',
  );
  expect(hidden('at /opt/pith/sandbox/skills, /opt/pith/core')).toBe('at shipped sandbox/skills, Pith itself/core');
  expect(hidden('database /var/pith/pith.db: the disk is full')).toBe('database data/pith.db: the disk is full');
  expect(hidden('It is in /places/ann.')).toBe('It is in home.');
});

it('W3 the project and its sandbox have their names also where nobody trusted them, and another sandbox is used', () => {
  const used = '/state/restricted/1f/sandbox';
  const places = {
    home: null,
    project: null,
    sandbox: used,
    untrustedSandbox: '/work/shop/sandbox',
    shippedSandbox: '/opt/pith/sandbox',
    data: '/state/d',
  };
  expect(hiddenFolders(places)(`/work/shop/sandbox is restricted: ${used} is used; see /work/shop/a.ts`)).toBe(
    'sandbox is restricted: sandbox is used; see project/a.ts',
  );
});
