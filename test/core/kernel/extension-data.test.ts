import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { extensionData, makeExtensionData } from '../../../core/kernel/index.ts';
import { folderWith } from '../../places.ts';

describe("an extension's data", () => {
  it('T7 F4 F5: lies where no other id can name it, whatever the ids are', () => {
    const data = path.join(folderWith({}), 'data');
    const places = ['logs', 'extensions', 'threads', 'one', 'set:one', 'set:logs', 'other:one'].map((id) => extensionData(data, id).path);
    expect(new Set(places).size).toBe(places.length);
    expect(places.filter((place) => !/^data\/extensions\/[^/]+$/.test(path.relative(path.dirname(data), place)))).toEqual([]);
  });

  it('T7: is taken over from where earlier versions kept it, once', () => {
    const sandbox = folderWith({
      'data/one/a.txt': 'mine',
      'data/one/b/c.txt': 'mine too',
      'data/two/x': 'x',
    });
    const data = path.join(sandbox, 'data');
    expect(makeExtensionData(data, 'one')).toBe(path.join(data, 'extensions/one'));
    expect(fs.readFileSync(path.join(data, 'extensions/one/b/c.txt'), 'utf8')).toBe('mine too');
    expect(fs.readdirSync(data).toSorted()).toEqual(['extensions', 'two']);
    fs.mkdirSync(path.join(data, 'one'));
    fs.writeFileSync(path.join(data, 'one/a.txt'), 'planted');
    makeExtensionData(data, 'one');
    expect(fs.readFileSync(path.join(data, 'extensions/one/a.txt'), 'utf8')).toBe('mine');
  });

  it.each(['logs', 'extensions'])('T7 F5: an extension called %s does not get what is the kernel’s', (id) => {
    const sandbox = folderWith({ [`data/${id}/pith.log`]: 'line' });
    const data = path.join(sandbox, 'data');
    expect(makeExtensionData(data, id)).toBe(path.join(data, 'extensions', id));
    expect(fs.readdirSync(path.join(data, 'extensions', id))).toEqual([]);
    expect(fs.readFileSync(path.join(data, id, 'pith.log'), 'utf8')).toBe('line');
  });

  it('T7 F4: a link in the former place stays where it is and is not followed', () => {
    const sandbox = folderWith({ 'home/.bashrc': 'mine' });
    const data = path.join(sandbox, 'data');
    fs.mkdirSync(data);
    fs.symlinkSync(path.join(sandbox, 'home'), path.join(data, 'one'));
    expect(fs.readdirSync(makeExtensionData(data, 'one'))).toEqual([]);
    expect(fs.lstatSync(path.join(data, 'one')).isSymbolicLink()).toBe(true);
  });

  it.each(['data', 'data/extensions', 'data/extensions/one', 'data/extensions/set:dice'])(
    'T6 F4: a link at %s is refused with a cure',
    (at) => {
      const sandbox = folderWith({ 'home/.bashrc': 'mine' });
      const place = path.join(sandbox, at);
      fs.mkdirSync(path.dirname(place), { recursive: true });
      fs.symlinkSync(path.join(sandbox, 'home'), place);
      const id = at.includes('set:') ? 'set:dice' : 'one';
      expect(() => makeExtensionData(path.join(sandbox, 'data'), id)).toThrow(
        expect.objectContaining({ code: 'state_refused', where: place, cure: expect.stringContaining('data_dir') }),
      );
      expect(fs.readdirSync(path.join(sandbox, 'home'))).toEqual(['.bashrc']);
    },
  );

  it('K7 a file in the place of the data folder is told with a cure', () => {
    const sandbox = folderWith({ data: '' });
    const data = path.join(sandbox, 'data');
    expect(() => makeExtensionData(data, 'one')).toThrow(
      expect.objectContaining({
        message: `${data} is not used: a file is in the place of a folder`,
        cure: expect.stringContaining('data_dir'),
      }),
    );
    expect(makeExtensionData(path.join(sandbox, 'other'), 'one')).toBe(path.join(sandbox, 'other/extensions/one'));
  });
});
