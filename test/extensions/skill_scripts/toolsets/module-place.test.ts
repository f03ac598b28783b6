import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { isModuleThere } from '../../../../sandbox/extensions/skill_scripts/toolsets/module-place.ts';
import { folderWith } from '../../../places.ts';

it('S70: a module is there only as a file of the skill, by its path and behind every link', () => {
  const root = realpathSync(folderWith());
  const folder = path.join(root, 'dice');
  mkdirSync(path.join(folder, 'toolsets'), { recursive: true });
  writeFileSync(path.join(folder, 'toolsets/index.ts'), '');
  writeFileSync(path.join(root, 'other.ts'), '');
  symlinkSync(path.join(root, 'other.ts'), path.join(folder, 'linked.ts'));
  const isThere = (name: string) => isModuleThere(folder, name);
  expect(['toolsets/index:list', 'toolsets:list', 'toolsets/index.ts'].map(isThere)).toEqual([true, true, true]);
  expect(['gone:list', '../other:list', `${root}/other:list`, 'linked:list'].map(isThere)).toEqual([false, false, false, false]);
});
