import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { skillText } from '../skill-sandbox.ts';
import { installSandbox } from './install-sandbox.ts';

const LOCK = 'sandbox/skills.lock.json';
const lockOf = (id: string, origin: Readonly<Record<string, string>>): string =>
  JSON.stringify({ version: 1, skills: { [id]: { origin, commit: null, digest: 'x', installedAt: '' } } });

describe('a lock file that others wrote (S83)', () => {
  it('S83 names no folder outside of the skills folder', async () => {
    const box = await installSandbox({ 'from/evil/SKILL.md': skillText({ name: 'evil' }) });
    await box.write(LOCK, lockOf('../../evil', { kind: 'folder', location: path.join(box.project, 'from/evil') }));
    const { error } = await box.run('update', [], { force: true, yes: true });
    expect(error).toMatch(/^lock_damaged: .*"\.\.\/\.\.\/evil" is no name of a folder/);
    expect(existsSync(path.join(box.project, 'evil'))).toBe(false);
  });

  it.each([
    [{ kind: 'git', location: 'ext::sh -c id' }, /it is no address/],
    [{ kind: 'git', location: '--upload-pack=id' }, /its protocol is not among/],
    [{ kind: 'git', location: 'https://example.com/a', ref: '--upload-pack=id' }, /no name of a branch/],
    [{ kind: 'folder', location: '../elsewhere' }, /cannot install from/],
  ])('S83 names no origin that install would refuse: %j', async (origin, why) => {
    const box = await installSandbox();
    await box.write(LOCK, lockOf('letters', origin));
    const { error } = await box.run('update', []);
    expect(error).toMatch(/^lock_damaged/);
    expect(error).toMatch(why);
  });

  it.skipIf(process.platform === 'win32')('S83 is not waited for where it is a pipe', async () => {
    const box = await installSandbox();
    await rm(path.join(box.project, LOCK), { force: true });
    execFileSync('mkfifo', [path.join(box.project, LOCK)]);
    expect((await box.run('update', [])).error).toMatch(/^lock_damaged: .*no regular file/);
  });
});
