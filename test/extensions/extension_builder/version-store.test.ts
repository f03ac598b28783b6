import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { stateFolder } from '@pith/safe-files';
import { Place } from '../../../sandbox/extensions/extension_builder/versions/place.ts';
import { VersionStore } from '../../../sandbox/extensions/extension_builder/versions/version-store.ts';
import { systemClock } from '@pith/promises';
import { folderWith } from '../../places.ts';

let folder: string;
beforeEach(async () => void (folder = folderWith()));

const files = (text: string) => [{ path: 'main.ts', bytes: Buffer.from(text) }];

describe('the versions of an extension', () => {
  it('K72 keeps the last five, and those that are named', async () => {
    const store = new VersionStore(() => stateFolder(folder), systemClock);
    for (let number = 1; number <= 7; number += 1) expect((await store.add('x', files(`${number}`), 'me', [1])).number).toBe(number);
    expect((await store.list('x')).map(({ number }) => number)).toEqual([1, 3, 4, 5, 6, 7]);
    expect((await readdir(join(folder, 'x'))).sort()).toEqual(['1', '3', '4', '5', '6', '7', 'versions.json']);
    expect(await store.add('x', files('7'), 'me')).toMatchObject({ number: 7 });
    await expect(store.read('x', 2)).rejects.toMatchObject({ code: 'not_found' });
    await mkdir(join(folder, 'x/8'));
    await writeFile(join(folder, 'x/8/half.ts'), 'of an attempt that was cut off');
    await store.add('x', files('8'), 'me');
    expect(await store.read('x', 8)).toEqual(files('8'));
  });

  it('K72 does not give out a version that was changed', async () => {
    const store = new VersionStore(() => stateFolder(folder), systemClock);
    await store.add('x', files('one'), 'me');
    await writeFile(join(folder, 'x/1/main.ts'), 'two');
    await expect(store.read('x', 1)).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('was changed') });
  });

  it('K72 exchanges a folder as a whole and leaves nothing beside it', async () => {
    const place = new Place(join(folder, 'extensions/x'));
    expect(await place.digest()).toBeNull();
    await place.put(files('one'));
    await place.put([...files('two'), { path: 'deep/more.ts', bytes: Buffer.from('more') }]);
    expect((await place.sources())?.map(({ path }) => path)).toEqual(['deep/more.ts', 'main.ts']);
    await place.put(files('three'));
    expect((await place.sources())?.map(({ path }) => path)).toEqual(['main.ts']);
    expect(await readdir(join(folder, 'extensions'))).toEqual(['x']);
    await place.remove();
    expect(await readdir(join(folder, 'extensions'))).toEqual([]);
  });
});
