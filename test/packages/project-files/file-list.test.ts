import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { listFiles } from '@pith/project-files';
import { Jail } from '@pith/safe-files';
import { folderWith } from '../../places.ts';
import { unreadable } from '../../unreadable.ts';

const { signal } = new AbortController();
const FILES = {
  'src/a.ts': '',
  'src/b.log': '',
  'src/.gitignore': '*.log\n!keep.log\n',
  'src/keep.log': '',
  '.gitignore': 'out/\n',
  'out/c.ts': '',
};

describe.each([{ git: true }, { git: false }])('the files of a project (git: $git)', ({ git }) => {
  const made = () => {
    const folder = realpathSync(folderWith(FILES));
    if (git) execFileSync('git', ['init', '-q'], { cwd: folder });
    return folder;
  };

  it('U1 are those that no .gitignore names, sorted, up to a number', async () => {
    const jail = new Jail(made());
    const all = ['.gitignore', 'src/.gitignore', 'src/a.ts', 'src/keep.log'];
    expect(await listFiles(jail, { most: 10 }, signal)).toEqual({ paths: all, isCut: false, unread: [] });
    expect(await listFiles(jail, { most: 2 }, signal)).toMatchObject({ isCut: true, paths: { length: 2 } });
    expect((await listFiles(jail, { most: 10, mostWalked: 2 }, signal)).isCut).toBe(!git);
    expect((await listFiles(jail, { most: 10, below: ['src', 'a.ts'] }, signal)).paths).toEqual(['src/a.ts']);
  });
});

it('U1 lists the rest where a folder or its rules may not be read, and says which', async () => {
  const jail = new Jail(realpathSync(folderWith({ ...FILES, 'out/.gitignore': '', 'conf/.gitignore': '', 'conf/a.ts': '' })));
  const listed = (below: readonly string[]) =>
    unreadable(
      'EACCES',
      (place) => /\/(?:conf|\.gitignore)$/u.test(place),
      () => listFiles(jail, { most: 10, useGit: false, below }, signal),
    );
  const src = ['src/.gitignore', 'src/a.ts', 'src/b.log', 'src/keep.log'];
  const rules = ['.gitignore', 'src/.gitignore'];
  expect(await listed([])).toEqual({
    paths: ['.gitignore', 'out/.gitignore', 'out/c.ts', ...src],
    isCut: false,
    unread: ['.gitignore', 'conf', 'out/.gitignore', 'src/.gitignore'],
  });
  expect(await listed(['src'])).toEqual({ paths: src, isCut: false, unread: rules }); // those above it, too
  const closed = unreadable(
    'EACCES',
    (place) => place.endsWith('/.'),
    () => listFiles(jail, { most: 10, useGit: false }, signal),
  );
  expect(await closed).toEqual({ paths: [], isCut: false, unread: ['.'] });
  expect(await listed(['src', 'b.log'])).toEqual({ paths: ['src/b.log'], isCut: false, unread: rules });
});

it.each(['/.', '/.gitignore'])('U1 is refused where the system cannot read for now: %s', async (failing) => {
  const jail = new Jail(realpathSync(folderWith(FILES)));
  const listed = unreadable(
    'EMFILE',
    (place) => place.endsWith(failing),
    () => listFiles(jail, { most: 10, useGit: false }, signal),
  );
  await expect(listed).rejects.toMatchObject({ message: expect.stringContaining('EMFILE') });
});

/** A repository whose own settings start a program that leaves a mark, whatever git does with it. */
function hostile(): { readonly folder: string; readonly mark: string } {
  const folder = realpathSync(folderWith({ 'src/a.ts': 'needle\n' }));
  const mark = path.join(realpathSync(folderWith()), 'ran');
  const program = path.join(folder, 'program.sh');
  writeFileSync(program, `#!/bin/sh\ntouch ${mark}\nexit 1\n`, { mode: 0o755 });
  const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  git('init', '-q');
  git('add', '-A');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'x');
  for (const [name, value] of [
    ['core.fsmonitor', program],
    ['core.pager', program],
    ['core.sshCommand', program],
    ['extensions.partialClone', 'origin'],
    ['remote.origin.promisor', 'true'],
    ['remote.origin.url', folder],
    ['remote.origin.uploadpack', program],
    ['core.sparseCheckout', 'true'],
    ['core.sparseCheckoutCone', 'true'],
    ['index.sparse', 'true'],
    ['core.repositoryFormatVersion', '1'],
  ])
    git('config', name as string, value as string);
  rmSync(mark, { force: true });
  return { folder, mark };
}

describe('a hostile repository', () => {
  it('K60 starts no program by its settings when its files are listed', async () => {
    const { folder, mark } = hostile();
    expect((await listFiles(new Jail(folder), { most: 10 }, signal)).paths).toEqual(['program.sh', 'src/a.ts']);
    expect(existsSync(mark)).toBe(false);
    // The settings do work: git by itself starts the program.
    execFileSync('git', ['ls-files', '--others'], { cwd: folder, stdio: 'ignore' });
    expect(existsSync(mark)).toBe(true);
  });

  it('K60 has no missing object fetched: its settings name a program for that', async () => {
    const { folder, mark } = hostile();
    execFileSync('git', ['config', '--unset', 'core.fsmonitor'], { cwd: folder });
    // A sparse index names a folder by its tree, which git must read to list what is in it.
    const tree = execFileSync('git', ['rev-parse', 'HEAD:src'], { cwd: folder }).toString().trim();
    execFileSync('git', ['read-tree', '--empty'], { cwd: folder });
    execFileSync('git', ['update-index', '--add', '--cacheinfo', `100644,${'1'.repeat(40)},src/missing.ts`], {
      cwd: folder,
      stdio: 'ignore',
    });
    rmSync(path.join(folder, '.git/objects', tree.slice(0, 2), tree.slice(2)), { force: true });
    rmSync(mark, { force: true });
    await listFiles(new Jail(folder), { most: 10 }, signal);
    expect(existsSync(mark)).toBe(false);
  });

  it('K60 is not asked where it lies bare in a folder of the project, nor where the person does not trust the folder', async () => {
    const { folder, mark } = hostile();
    const bare = path.join(folder, 'assets');
    mkdirSync(path.join(bare, 'objects'), { recursive: true });
    mkdirSync(path.join(bare, 'refs'));
    writeFileSync(path.join(bare, 'HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(
      path.join(bare, 'config'),
      `[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ${bare}\nfsmonitor = ${folder}/program.sh\n`,
    );
    rmSync(mark, { force: true });
    await listFiles(new Jail(bare), { most: 10 }, signal);
    expect((await listFiles(new Jail(folder), { most: 10, useGit: false }, signal)).paths).toContain('src/a.ts');
    expect(existsSync(mark)).toBe(false);
  });

  it('K60 names no file outside, whatever its index says', async () => {
    const folder = realpathSync(folderWith({ 'a.ts': '' }));
    execFileSync('git', ['init', '-q'], { cwd: folder });
    execFileSync('git', ['add', 'a.ts'], { cwd: folder });
    // Git itself refuses such a name, so it is put into the index by hand: of the same length, and with the checksum left out.
    const index = path.join(folder, '.git/index');
    execFileSync('git', ['config', 'index.skipHash', 'true'], { cwd: folder });
    const { readFileSync } = await import('node:fs');
    const { createHash } = await import('node:crypto');
    const bytes = readFileSync(index);
    const at = bytes.indexOf('a.ts');
    bytes.write('../x', at);
    createHash('sha1')
      .update(bytes.subarray(0, -20))
      .digest()
      .copy(bytes, bytes.length - 20);
    writeFileSync(index, bytes);
    const { paths } = await listFiles(new Jail(folder), { most: 10 }, signal);
    expect(paths.filter((file) => file.includes('..'))).toEqual([]);
    await expect(new Jail(folder).stat(['..', 'x'])).resolves.toBeNull();
  });

  it('S9 lists the folder that it is in, whatever core.worktree names', async () => {
    const outside = folderWith({ 'secret.txt': '' });
    const folder = realpathSync(folderWith({ 'a.ts': '', 'sub/b.ts': '' }));
    execFileSync('git', ['init', '-q'], { cwd: folder });
    for (const named of [outside, '/', path.dirname(folder)]) {
      execFileSync('git', ['config', 'core.worktree', named], { cwd: folder });
      expect((await listFiles(new Jail(folder), { most: 10 }, signal)).paths).toEqual(['a.ts', 'sub/b.ts']);
      expect((await listFiles(new Jail(path.join(folder, 'sub')), { most: 10 }, signal)).paths).toEqual(['b.ts']);
    }
  });
});
