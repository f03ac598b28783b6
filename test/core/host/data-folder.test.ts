import path from 'node:path';
import { expect, it } from 'vitest';
import { makeDataFolder } from '../../../core/host/data-folder.ts';
import { folderWith } from './sandbox-folder.ts';

it('K7 a file in the place of the data folder is told with a cure', () => {
  const sandbox = folderWith({ data: '' });
  const data = path.join(sandbox, 'data');
  expect(() => makeDataFolder(data, 'one')).toThrow(
    expect.objectContaining({
      message: `the data folder ${data}/one cannot be made: a file stands in its place`,
      cure: 'move that file away, or set data_dir to another folder',
    }),
  );
  expect(makeDataFolder(path.join(sandbox, 'other'), 'one')).toBe(path.join(sandbox, 'other/one'));
});
