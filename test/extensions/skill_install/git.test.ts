import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openGitOrigin } from '../../../sandbox/extensions/skill_install/install/git-origin.ts';
import { systemClock } from '@pith/promises';
import { skillText } from '../skill_registry/skill-sandbox.ts';
import { gitIn, installSandbox, type InstallSandbox } from './install-sandbox.ts';

const hasGit = spawnSync('git', ['--version']).status === 0;

/** A working copy whose commits a test makes; its address is a file address. */
async function repository(box: InstallSandbox, files: Readonly<Record<string, string>>) {
  const folder = path.join(box.project, 'origin/letters-pack');
  await mkdir(folder, { recursive: true });
  const git = gitIn(folder, box.home);
  const commit = async (changes: Readonly<Record<string, string | null>>) => {
    for (const [name, text] of Object.entries(changes)) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      if (text === null) await rm(path.join(folder, name));
      else await writeFile(path.join(folder, name), text);
    }
    git('add', '-A');
    git('commit', '-qm', 'x');
    return git('rev-parse', 'HEAD');
  };
  git('init', '-q');
  return { folder, url: pathToFileURL(folder).href, git, commit, first: await commit(files) };
}

const PACK = {
  'skills/letters/SKILL.md': skillText({ name: 'letters', body: 'One.\n' }),
  'skills/letters/.gitattributes': '* text eol=crlf\n*.md filter=evil ident\n',
  'skills/notes/SKILL.md': skillText({ name: 'notes' }),
};

describe.skipIf(!hasGit)('skills install from git (S83)', () => {
  it('S83 installs a branch, a tag and a commit, byte for byte', async () => {
    const box = await installSandbox();
    const { url, git, commit, first } = await repository(box, PACK);
    git('tag', 'v1');
    const second = await commit({ 'skills/letters/SKILL.md': skillText({ name: 'letters', body: 'Two. $Id$\n' }) });
    const body = () => readFileSync(path.join(box.sandbox, 'skills/letters/SKILL.md'), 'utf8').split('---\n').at(-1);
    const run = async (ref?: string) =>
      (await box.run('install', url, { skill: ['letters'], force: true, ...(ref === undefined ? {} : { ref }) })).error;
    expect([await run(), body(), box.lock()['letters']!.commit]).toEqual(['', 'Two. $Id$\n', second]);
    expect([await run('v1'), body(), box.lock()['letters']!.commit]).toEqual(['', 'One.\n', first]);
    expect([await run('main'), body()]).toEqual(['', 'Two. $Id$\n']);
    expect([await run(first), body()]).toEqual(['', 'One.\n']);
    expect(box.lock()['letters']).toMatchObject({ origin: { kind: 'git', location: url, ref: first, path: 'skills/letters' } });
    expect((await box.run('install', `${url}#v1`, { skill: ['letters'], force: true })).error).toBe('');
    expect(box.lock()['letters']).toMatchObject({ origin: { kind: 'git', location: url, ref: 'v1' }, commit: first });
    expect(box.skills()).toEqual(['letters']);
    expect(existsSync(path.join(box.sandbox, 'skills/letters/.git'))).toBe(false);
  });

  it('S83 takes a bare repository by its folder, and a skill at its top by the name that it says', async () => {
    const box = await installSandbox();
    const { git, folder } = await repository(box, { 'SKILL.md': skillText({ name: 'letters' }), 'run.sh': '#!/bin/sh\n' });
    await chmod(path.join(folder, 'run.sh'), 0o755);
    git('add', '-A');
    git('commit', '-qm', 'x');
    const bare = path.join(box.project, 'pack.git');
    git('clone', '-q', '--bare', folder, bare);
    const { error, json } = await box.run('install', bare, { json: true });
    expect([error, box.skills()]).toEqual(['', ['letters']]);
    expect(json).toMatchObject({ commit: git('rev-parse', 'HEAD'), skills: [{ scripts: ['run.sh'] }] });
  });

  it('S83 copies the file behind a link within the repository, and refuses other links and submodules in the skill, not beside it', async () => {
    const box = await installSandbox();
    const { folder, url, git, commit } = await repository(box, PACK);
    await symlink('SKILL.md', path.join(folder, 'skills/notes/AGENTS.md'));
    await commit({});
    expect((await box.run('install', url, { skill: ['notes'] })).error).toBe('');
    const notes = path.join(box.sandbox, 'skills/notes');
    expect(await readFile(path.join(notes, 'AGENTS.md'), 'utf8')).toBe(await readFile(path.join(notes, 'SKILL.md'), 'utf8'));
    expect((await box.run('remove', 'notes', { yes: true })).error).toBe('');
    await symlink('/etc/passwd', path.join(folder, 'skills/notes/link.md'));
    await commit({});
    expect((await box.run('install', url, { skill: ['notes'] })).error).toMatch(/^origin_refused: .*is a link/);
    expect((await box.run('install', url, { skill: ['letters'] })).error).toBe('');
    git('update-index', '--add', '--cacheinfo', `160000,${git('rev-parse', 'HEAD')},skills/letters/module`);
    git('commit', '-qm', 'x');
    expect((await box.run('install', url, { skill: ['letters'], force: true })).error).toMatch(
      /^origin_refused: .*module" is not a regular file/,
    );
    expect(box.skills()).toEqual(['letters']);
  });

  it('S83 runs no hook, filter or configuration of the repository or of the user', async () => {
    const box = await installSandbox();
    const ran = path.join(box.project, 'ran');
    const { folder, url } = await repository(box, PACK);
    await writeFile(
      path.join(box.home, '.gitconfig'),
      `[core]\n\tfsmonitor = touch ${ran}\n[filter "evil"]\n\tsmudge = touch ${ran}\n[url "file:///nowhere"]\n\tinsteadOf = file://\n`,
    );
    await writeFile(path.join(folder, '.git/hooks/post-checkout'), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
    expect((await box.run('install', url, { skill: ['letters'] })).error).toBe('');
    expect(existsSync(ran)).toBe(false);
  });

  it('S83 says what git says when it fails, without waiting for a password', async () => {
    const box = await installSandbox();
    const { url } = await repository(box, PACK);
    expect((await box.run('install', `${url}-gone`)).error).toMatch(/^git_failed: git fetch failed: /);
    expect((await box.run('install', url, { ref: 'nowhere' })).error).toMatch(/^git_failed: git fetch failed: .*nowhere/);
    expect(box.skills()).toEqual([]);
  });

  it('S83 ends a fetch that takes too much room or time', async () => {
    const box = await installSandbox();
    const { url } = await repository(box, {
      ...PACK,
      'one.txt': 'x'.repeat(5e6),
      'three.txt': 'zzz',
      'two.txt': 'y'.repeat(5e6),
      'large.bin': Array.from({ length: 60_000 }, (_, at) => `${(at * 7919) % 104729} ${at}`).join('\n'),
    });
    const after = (_ms: number, run: () => void) => (setImmediate(run), () => undefined);
    const quick = { ...systemClock, after }; // two minutes are over at once
    const open = (clock: typeof systemClock, name: string) =>
      openGitOrigin({ kind: 'git', location: url }, { staging: path.join(box.project, name), clock, allow: [] });
    await expect(open(quick, 'late')).rejects.toMatchObject({ code: 'origin_timeout' });
    const place = { staging: path.join(box.project, 'large'), clock: systemClock, allow: [], mostBytes: 64 * 1024 };
    await expect(openGitOrigin({ kind: 'git', location: url }, place)).rejects.toMatchObject({ code: 'origin_too_large' });
    const listing = await open(systemClock, 'fine');
    expect(listing.entries.map(({ path: name }) => name)).toContain('skills/notes/SKILL.md');
    const wanted = listing.entries.filter(({ path: name }) => name.endsWith('.txt')); // more than is read at once
    const read: string[] = [];
    for await (const { entry, chunks } of listing.read(wanted))
      for await (const chunk of chunks) read.push(`${entry.path} ${chunk.length} ${String.fromCharCode(chunk[0]!, chunk.at(-1)!)}`);
    expect(read).toEqual(['one.txt 5000000 xx', 'three.txt 3 zz', 'two.txt 5000000 yy']);
  });

  it('S10 ends at so many names where a repository of a few trees lists thousands of millions of them, in install and in update', async () => {
    const box = await installSandbox();
    const { folder, git, url } = await repository(box, PACK);
    expect((await box.run('install', url, { skill: ['letters'] })).error).toBe('');
    git('update-ref', 'refs/heads/main', bombIn(folder, git('rev-parse', 'HEAD:skills/letters/SKILL.md'), 10));
    const before = process.memoryUsage().rss;
    const seen = /^origin_refused: .*it contains more than 50000 files, .*clone it by hand/;
    expect((await box.run('install', url, { skill: ['notes'] })).error).toMatch(seen);
    const updated = await box.run('update', ['letters']);
    expect(updated.text + updated.error).toMatch(/more than 50000 files/);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    // As few objects name one SKILL.md in 10,000 folders.
    git(
      'update-ref',
      'refs/heads/main',
      bombIn(folder, git('rev-parse', `${git('rev-list', '-1', '--all', '--', 'skills/letters/SKILL.md')}:skills/letters/SKILL.md`), 4),
    );
    expect((await box.run('install', url, { all: true })).error).toMatch(/^origin_refused: .*more than 5000 skills/);
  });
});

/** A commit of that many trees, each of ten names of the next. */
function bombIn(folder: string, blob: string, levels: number): string {
  const made = (input: string, ...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd: folder, input, encoding: 'utf8' }).trim();
  let tree = made(`100644 blob ${blob}\tSKILL.md\n`, 'mktree');
  for (let level = 0; level < levels; level += 1)
    tree = made(Array.from({ length: 10 }, (_, at) => `040000 tree ${tree}\td${at}\n`).join(''), 'mktree');
  return made('', 'commit-tree', '-m', 'x', tree);
}
