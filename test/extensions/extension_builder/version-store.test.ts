import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { stateFolder } from '@pith/safe-files';
import { digestOf } from '../../../sandbox/extensions/extension_builder/sources.ts';
import { ExtensionFolders } from '../../../sandbox/extensions/extension_builder/versions/extension-folders.ts';
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
    expect((await readdir(join(folder, 'x'))).filter((name) => /^[0-9a-f]{64}$/.test(name))).toHaveLength(6);
    expect(await store.add('x', files('7'), 'me')).toMatchObject({ number: 7 });
    await expect(store.read('x', 2)).rejects.toMatchObject({ code: 'not_found' });
    await store.add('x', files('4'), 'me');
    for (const text of ['9', '10', '11', '12']) await store.add('x', files(text), 'me');
    expect((await store.list('x')).map(({ number }) => number)).toEqual([8, 9, 10, 11, 12]);
    expect(await store.read('x', 8)).toEqual(files('4')); // which had been version 4
  });

  it('K72 does not give out a version that was changed', async () => {
    const store = new VersionStore(() => stateFolder(folder), systemClock);
    await store.add('x', files('one'), 'me');
    const { digest } = (await store.list('x'))[0]!;
    await writeFile(join(folder, 'x', digest, 'x/main.ts'), 'two');
    await expect(store.read('x', 1)).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('was changed') });
  });

  it('K72 gives out what an earlier version of Pith kept, by number and not by digest', async () => {
    const store = new VersionStore(() => stateFolder(folder), systemClock);
    await mkdir(join(folder, 'x/1'), { recursive: true });
    await writeFile(join(folder, 'x/1/main.ts'), 'former');
    const former = { number: 1, digest: digestOf(files('former')), at: 1, by: 'me' };
    await writeFile(join(folder, 'x/versions.json'), JSON.stringify([former]));
    expect(await store.read('x', 1)).toEqual(files('former'));
    for (let number = 2; number <= 6; number += 1) await store.add('x', files(`${number}`), 'me');
    expect(await readdir(join(folder, 'x'))).not.toContain('1');
  });

  it('K72 exchanges a folder as a whole, never over files that nobody looked at, and leaves nothing beside it', async () => {
    const folders = new ExtensionFolders(folder, stateFolder(folder, 'journals'));
    const paths = async () => (await folders.sources('x'))?.map(({ path }) => path);
    expect(await folders.digest('x')).toBeNull();
    await folders.exchange('x', files('one'), null);
    await folders.exchange('x', [...files('two'), { path: 'deep/more.ts', bytes: Buffer.from('more') }], await folders.digest('x'));
    expect(await paths()).toEqual(['deep/more.ts', 'main.ts']);
    const seen = await folders.digest('x');
    await writeFile(join(folder, 'extensions/x/main.ts'), 'mine');
    for (const expects of [seen, null]) {
      await expect(folders.exchange('x', files('three'), expects)).rejects.toMatchObject({ code: 'not_allowed' });
      await expect(folders.exchange('x', null, expects)).rejects.toMatchObject({ code: 'not_allowed' });
    }
    expect((await folders.sources('x'))?.map(({ bytes }) => String(bytes))).toEqual(['more', 'mine']);
    await folders.exchange('x', files('three'), await folders.digest('x'));
    expect(await paths()).toEqual(['main.ts']);
    expect(await readdir(join(folder, 'extensions'))).toEqual(['x']);
    await folders.exchange('x', null, await folders.digest('x'));
    expect(await readdir(join(folder, 'extensions'))).toEqual([]);
  });
});
