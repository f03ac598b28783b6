import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Jail } from '@pith/safe-files';
import { secretsOf } from '../../../sandbox/extensions/project_tools/shell/secret-files.ts';
import { changesBetween, autorunFilesOf, linesOf } from '../../../sandbox/extensions/project_tools/shell/autorun-files.ts';
import { execFileSync } from 'node:child_process';
import { folderWith, writeFiles } from '../../places.ts';

const NOBODY = 65534;
const { signal } = new AbortController();

/** A repository whose folders are those of somebody to whom modes apply: the administrator lists every folder. */
function repositoryOf() {
  const root = folderWith();
  const isRoot = process.getuid?.() === 0;
  const run = (script: string) => execFileSync('bash', ['-pec', script], { cwd: root, env: { PATH: process.env['PATH'], HOME: root } });
  if (isRoot) {
    chownSync(root, NOBODY, NOBODY);
    process.seteuid?.(NOBODY);
    onTestFinished(() => process.seteuid?.(0));
  }
  return { root, run, jail: new Jail(root), state: `${root}/none` };
}

describe('1 S1 a folder that may be entered and not listed', () => {
  it('1 S1 is told, with the repository and the hooks in it and what the index has there', async () => {
    const place = repositoryOf();
    place.run('git init -q; mkdir -p lib deep');
    const before = await autorunFilesOf(place, signal);
    const git = 'git -c user.name=a -c user.email=a@b';
    place.run(
      `for each in lib deep/unknown; do git init -q $each; ${git} -C $each commit -q --allow-empty -m x; git -C $each config core.fsmonitor ./evil
       git update-index --add --cacheinfo 160000,$(git -C $each rev-parse HEAD),$each; done
       printf '#!/bin/sh' > lib/.git/hooks/post-checkout; chmod 0311 lib/.git/hooks lib deep`,
    );
    const now = await autorunFilesOf(place, signal);
    chmodSync(`${place.root}/lib`, 0o711);
    expect(linesOf(await changesBetween(place.root, before, now, signal))).toEqual([
      'lib/.git is a new repository: git in lib starts core.fsmonitor=./evil, the hook post-checkout',
      'deep/, lib/ are new or changed: nobody may list this folder, so look at what lies in it yourself',
    ]);
    expect([...now.gitlinks].sort()).toEqual(['deep/unknown', 'lib']);
    expect(linesOf(await changesBetween(place.root, now, now, signal))).toEqual([]);
  });

  it('1 S7 is shown to no command', async () => {
    const place = repositoryOf();
    mkdirSync(`${place.root}/conf`);
    writeFiles(place.root, { 'conf/.env': 'canary', 'a/b/.env': '' });
    for (const mode of [0o311, 0o000]) {
      chmodSync(`${place.root}/conf`, mode);
      expect(await secretsOf(place, 100, signal)).toMatchObject({ unlisted: [`${place.root}/conf`], files: [`${place.root}/a/b/.env`] });
    }
    chmodSync(`${place.root}/conf`, 0o711);
  });
});
