import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { cp, mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build } from 'esbuild';
import { afterEach, describe, expect, it } from 'vitest';
import { stateFolder } from '@pith/safe-files';
import { treeDigest } from '../../../../sandbox/extensions/skill_registry/tree/folder-tree.ts';
import { type Exclusion, exclusively } from '../../../../sandbox/extensions/skill_registry/exclusive.ts';
import { systemClock } from '@pith/promises';
import { skillText } from '../skill-sandbox.ts';
import { until } from '../../../waiting.ts';
import { installSandbox, type InstallSandbox } from './install-sandbox.ts';

const ROOT = path.resolve(import.meta.dirname, '../../../..');
const ENDED = 2 ** 22 + 1; // above what systems give
const running: (ChildProcess | Server)[] = [];
afterEach(() => running.splice(0).forEach((one) => ('kill' in one ? one.kill('SIGKILL') : one.close())));

const entry = async (folder: string) => ({
  origin: { kind: 'folder', location: '/somewhere' },
  commit: null,
  digest: await treeDigest(folder),
  installedAt: '2026-01-01T00:00:00.000Z',
});

/** What a process leaves that is killed at some point of a change. */
async function leftovers(box: InstallSandbox, { journal, oldMoved, newMoved }: { journal: boolean; oldMoved: boolean; newMoved: boolean }) {
  const skills = path.join(box.sandbox, 'skills');
  const directory = path.join(skills, '.staging', `${ENDED}-abc`);
  await mkdir(path.join(directory, 'new'), { recursive: true });
  await mkdir(path.join(directory, 'old'));
  await writeFile(path.join(directory, 'owner.json'), JSON.stringify({ pid: ENDED, began: '1' }));
  await writeFile(path.join(skills, '.busy'), JSON.stringify({ pid: ENDED, began: '1' }));
  await cp(path.join(box.project, 'from/letters'), path.join(directory, 'new/letters'), { recursive: true });
  const change = { folder: 'letters', id: 'letters', from: 'new/letters', entry: await entry(path.join(directory, 'new/letters')) };
  if (journal) stateFolder(dataOf(box), 'installs').writeNow(`${ENDED}-abc.json`, JSON.stringify({ skills, changes: [change] }));
  if (oldMoved) await rename(path.join(skills, 'letters'), path.join(directory, 'old/0'));
  if (newMoved) await rename(path.join(directory, 'new/letters'), path.join(skills, 'letters'));
}

const dataOf = ({ sandbox }: { readonly sandbox: string }) => path.join(sandbox, 'data/extensions/skill_registry');

describe('a command that is killed (S83)', () => {
  const FILES = {
    'from/letters/SKILL.md': skillText({ name: 'letters', body: 'New.\n' }),
    'from/notes/SKILL.md': skillText({ name: 'notes' }),
    'sandbox/skills/letters/SKILL.md': skillText({ name: 'letters', body: 'Old.\n' }),
  };

  it.each([
    ['before it was confirmed', { journal: false, oldMoved: false, newMoved: false }, 'Old.\n'],
    ['when it was confirmed', { journal: true, oldMoved: false, newMoved: false }, 'New.\n'],
    ['when the old one was away', { journal: true, oldMoved: true, newMoved: false }, 'New.\n'],
    ['when the new one was in', { journal: true, oldMoved: true, newMoved: true }, 'New.\n'],
  ] as const)('S83 leaves nothing half done: %s', async (_, point, body) => {
    const box = await installSandbox(FILES);
    await leftovers(box, point);
    expect((await box.run('install', path.join(box.project, 'from/notes'))).error).toBe('');
    expect(readFileSync(path.join(box.sandbox, 'skills/letters/SKILL.md'), 'utf8').split('---\n').at(-1)).toBe(body);
    expect(box.skills()).toEqual(['letters', 'notes']);
    expect(Object.keys(box.lock())).toEqual(body === 'New.\n' ? ['letters', 'notes'] : ['notes']);
  });

  it('T6 F2: a journal that came with the folder is not believed: nothing outside is moved, nothing inside is lost', async () => {
    const box = await installSandbox({ ...FILES, '.docs/private.md': 'mine' });
    const skills = path.join(box.sandbox, 'skills');
    const directory = path.join(skills, '.staging', `${ENDED}-a`);
    await mkdir(directory, { recursive: true });
    const change = { folder: 'stolen', id: 'stolen', from: '../../../../.docs', entry: await entry(path.join(box.project, 'from/notes')) };
    await writeFile(path.join(directory, 'commit.json'), JSON.stringify([change]));
    expect((await box.run('install', path.join(box.project, 'from/notes'))).error).toBe('');
    expect(readFileSync(path.join(box.project, '.docs/private.md'), 'utf8')).toBe('mine');
    expect(box.skills()).toEqual(['letters', 'notes']);
  });

  it.each([
    ['from', { folder: 'stolen', from: '../../../../.docs' }],
    ['folder', { folder: '../../.docs', from: null }],
    ['absolute', { folder: '/etc', from: null }],
    ['a link in the way', { folder: 'letters', from: 'way/.docs' }],
  ])('T6 F2: a journal that leads out of the skills folder moves nothing: %s', async (_, bad) => {
    const box = await installSandbox({ ...FILES, '.docs/private.md': 'mine' });
    const skills = path.join(box.sandbox, 'skills');
    const directory = path.join(skills, '.staging', `${ENDED}-abc`);
    await mkdir(directory, { recursive: true });
    symlinkSync(box.project, path.join(directory, 'way'));
    const changes = [{ id: 'stolen', entry: null, ...bad }];
    stateFolder(dataOf(box), 'installs').writeNow(`${ENDED}-abc.json`, JSON.stringify({ skills, changes }));
    expect((await box.run('install', path.join(box.project, 'from/notes'))).error).toContain('is no folder in');
    expect(readFileSync(path.join(box.project, '.docs/private.md'), 'utf8')).toBe('mine');
    expect(box.skills()).toEqual(['.staging', 'letters']);
  });

  it('T6: what had begun and is confirmed in another data folder is left as it is', async () => {
    const box = await installSandbox(FILES);
    await leftovers(box, { journal: false, oldMoved: true, newMoved: false });
    expect((await box.run('install', path.join(box.project, 'from/notes'))).error).toBe('');
    const left = path.join(box.sandbox, 'skills/.staging', `${ENDED}-abc`);
    expect(readFileSync(path.join(left, 'old/0/SKILL.md'), 'utf8')).toContain('Old.');
    const skills = path.join(box.sandbox, 'skills');
    const change = { folder: 'letters', id: 'letters', from: 'new/letters', entry: await entry(path.join(left, 'new/letters')) };
    stateFolder(dataOf(box), 'installs').writeNow(`${ENDED}-abc.json`, JSON.stringify({ skills, changes: [change] }));
    expect((await box.run('install', path.join(box.project, 'from/notes'), { force: true, yes: true })).error).toBe('');
    expect([box.skills(), readFileSync(path.join(skills, 'letters/SKILL.md'), 'utf8').includes('New.')]).toEqual([
      ['letters', 'notes'],
      true,
    ]);
  });

  it('T6 F2: a link in the place of the staging folder or of the lock file is followed by nobody', async () => {
    const box = await installSandbox({ ...FILES, 'theirs/.bashrc': 'mine', 'other/skills.lock.json': '{"version":1,"skills":{}}' });
    const skills = path.join(box.sandbox, 'skills');
    symlinkSync(path.join(box.project, 'theirs'), path.join(skills, '.staging'));
    expect((await box.run('install', path.join(box.project, 'from/notes'))).error).toContain('a link stands in the place of a folder');
    rmSync(path.join(skills, '.staging'));
    symlinkSync(path.join(box.project, 'other/skills.lock.json'), path.join(box.sandbox, 'skills.lock.json'));
    expect((await box.run('install', path.join(box.project, 'from/notes'))).error).toContain('a link stands in its place');
    expect(readdirSync(path.join(box.project, 'theirs'))).toEqual(['.bashrc']);
    expect(readFileSync(path.join(box.project, 'other/skills.lock.json'), 'utf8')).toBe('{"version":1,"skills":{}}');
  });

  it('S83 kill -9 while it fetches leaves nothing that is offered, and the next command sweeps', async () => {
    const box = await installSandbox({ 'from/notes/SKILL.md': skillText({ name: 'notes' }) });
    const server = createServer((_, response) => void response.writeHead(200).write('PK')); // and never ends
    running.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const program = path.join(box.project, 'install.cjs');
    const source = `import { installSkills } from '${ROOT}/sandbox/extensions/skill_registry/install/install.ts';
      const clock = { now: () => Date.now(), after: (ms, run) => { const timer = setTimeout(run, ms); return () => clearTimeout(timer); } };
      const io = { print() {}, json() {}, interactive: false };
      const request = { from: 'http://127.0.0.1:${(server.address() as AddressInfo).port}/a.zip', source: 'project', skills: [], all: true };
      void installSkills(request, { use: () => ({ sandbox: '${box.sandbox}', home: null }), clock, dataDirectory: '${dataOf(box)}' }, io, new AbortController().signal);`;
    await build({
      stdin: { contents: source, resolveDir: ROOT },
      outfile: program,
      bundle: true,
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      logLevel: 'silent',
      alias: { pith: path.join(ROOT, 'core/contract/index.ts') },
    });
    const child = spawn(process.execPath, [program], { stdio: 'ignore' });
    running.push(child);
    const staging = path.join(box.sandbox, 'skills/.staging');
    const fetching = () => existsSync(staging) && readdirSync(staging).some((name) => existsSync(path.join(staging, name, 'archive.zip')));
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await Promise.race([until(fetching), ended]);
    expect(fetching()).toBe(true);
    child.kill('SIGKILL');
    await ended;
    expect(box.skills()).toEqual(['.staging']);
    expect((await box.registry().refresh()).all).toEqual([]); // hidden folders hold no skills
    expect((await box.run('install', path.join(box.project, 'from/notes'))).error).toBe('');
    expect(box.skills()).toEqual(['notes']);
  }, 30_000);

  it('S83 what a living process holds is left alone, what a dead one held is taken over by one', async () => {
    const box = await installSandbox();
    const skills = path.join(box.sandbox, 'skills');
    await writeFile(path.join(skills, '.busy'), JSON.stringify({ pid: ENDED, began: null }));
    let inside = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++inside);
      await new Promise(setImmediate);
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 12 }, () => exclusively(exclusion(skills), systemClock, work)));
    expect(most).toBe(1);
    expect(existsSync(path.join(skills, '.busy'))).toBe(false);
    await writeFile(path.join(skills, '.busy'), JSON.stringify({ pid: process.ppid, began: null }));
    const hurried = {
      ...systemClock,
      now: (() => {
        let at = 0;
        return () => (at += 20_000);
      })(),
    };
    await expect(exclusively(exclusion(skills), hurried, work)).rejects.toMatchObject({ code: 'install_busy' });
  });
});

function exclusion(skills: string): Exclusion {
  const busy = { code: 'install_busy', message: 'another process is at work' };
  return { file: path.join(skills, '.busy'), staging: stateFolder(skills, '.staging'), busy };
}
