import path from 'node:path';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { beforeEach, expect, it, vi } from 'vitest';
import { inspectSkill } from '../../../sandbox/extensions/skill_install/safety/inspection.ts';
import { copySkill, folderTree, isProgram, treeDigest } from '@pith/skill-files';
import { skillSandbox, skillText } from './skill-sandbox.ts';
import { folderWith } from '../../places.ts';

let home: string;
beforeEach(() => void (home = folderWith()));

async function put(file: string, content = ''): Promise<void> {
  await mkdir(path.dirname(path.join(home, 'kit', file)), { recursive: true });
  await writeFile(path.join(home, 'kit', file), content);
}

it('S14 S72 S84 trust, the scan and copies for scripts see the same files, hidden ones and packages among them', async () => {
  const names = ['.git/impl.ts', '.lib/a', 'SKILL.md', 'node_modules/a/index.js', 'scripts/run'];
  for (const name of names) await put(name);
  await symlink('SKILL.md', path.join(home, 'kit/link'));
  const folder = path.join(home, 'kit');
  expect((await folderTree(folder)).files.map(({ path: name }) => name)).toEqual(names);
  expect((await inspectSkill(folder)).files.map(({ path: name }) => name)).toEqual(names);
  expect((await inspectSkill(folder)).scripts).toEqual(names.filter((name) => isProgram({ path: name, executable: false })));
  expect([...(await copySkill(folder, path.join(home, 'copy')))!.keys()]).toEqual(names);
  expect([...(await copySkill(folder, path.join(home, 'copy-in-folder'), undefined, 'working_folder'))!.keys()]).toEqual(names);
  const before = await treeDigest(folder);
  await put('.git/impl.ts', 'changed');
  expect(await treeDigest(folder)).not.toBe(before);
});

it('S72 S83 what can be installed can be copied for its scripts: folders 31 deep', async () => {
  await put(`${'deep/'.repeat(31)}a.sh`, 'echo 1\n');
  expect([...(await copySkill(path.join(home, 'kit'), path.join(home, 'copy')))!.keys()]).toEqual([`${'deep/'.repeat(31)}a.sh`]);
  await put(`${'deep/'.repeat(32)}a.sh`);
  await expect(copySkill(path.join(home, 'kit'), path.join(home, 'copy2'))).rejects.toThrow('more than 32 deep');
});

it('S14 S21 looking at 1,600 trusted files lets others work every few milliseconds, however many skills they belong to', async () => {
  const box = await skillSandbox();
  for (let skill = 0; skill < 40; skill++) {
    await box.write(`.claude/skills/s${skill}/SKILL.md`, skillText({ name: `s${skill}` }));
    for (let file = 0; file < 40; file++) await box.write(`.claude/skills/s${skill}/notes/${file}.md`, 'Notes.\n');
  }
  expect(await box.run('skills trust', { arguments: { source: '.claude/skills' } })).toMatchObject({ code: 0 });
  const registry = box.registry();
  await registry.refresh();
  const yields = vi.fn();
  let others = setImmediate(function again() {
    yields();
    others = setImmediate(again);
  });
  await registry.refresh();
  clearImmediate(others);
  expect(yields.mock.calls.length).toBeGreaterThan(3); // 1,700 looks at files and folders
});
