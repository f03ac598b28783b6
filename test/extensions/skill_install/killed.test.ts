import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { cp, mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { stateFolder } from '@pith/safe-files';
import { treeDigest } from '@pith/skill-files';
import { skillText } from '../skill_registry/skill-sandbox.ts';
import { bundleText, exitOf, startProgram } from '../../core/store/child-process.ts';
import { serverOf } from '../../places.ts';
import { until } from '../../waiting.ts';
import { installSandbox, type InstallSandbox } from './install-sandbox.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

const entry = async (folder: string) => ({
  origin: { kind: 'folder', location: '/somewhere' },
  commit: null,
  digest: await treeDigest(folder),
  installedAt: '2026-01-01T00:00:00.000Z',
});

type Recorded = {
  folder: string;
  id: string;
  from: string | null;
  entry: unknown;
  before: unknown;
  old: string | null;
  next: string | null;
};

/** What a process leaves that is killed at some point of an update of `letters`, or of its removal. */
async function leftovers(box: InstallSandbox, at: { journal: boolean; oldMoved: boolean; newMoved: boolean; removes?: boolean }) {
  const skills = path.join(box.sandbox, 'skills');
  const directory = path.join(skills, '.staging/abc');
  const [place, from] = [path.join(skills, 'letters'), path.join(directory, 'new/letters')];
  await mkdir(path.join(directory, 'new'), { recursive: true });
  await mkdir(path.join(directory, 'old'));
  await mkdir(path.join(skills, '.busy'));
  await cp(path.join(box.project, 'from/letters'), from, { recursive: true });
  const next = at.removes ? null : await entry(from);
  const change = { folder: 'letters', id: 'letters', from: at.removes ? null : 'new/letters', entry: next, before: null };
  if (at.journal) journal(box, [{ ...change, old: await treeDigest(place), next: next?.digest ?? null }]);
  if (at.oldMoved) await rename(place, path.join(directory, 'old/0'));
  if (at.newMoved) await rename(from, place);
  dead(box);
}

function journal({ sandbox }: { readonly sandbox: string }, changes: readonly Recorded[]): void {
  const text = JSON.stringify({ root: path.join(sandbox, 'skills'), changes });
  stateFolder(dataOf({ sandbox }), 'installs').writeNow('abc.json', text);
}

/** Nobody has said for long that he lives. */
function dead({ sandbox }: { readonly sandbox: string }): void {
  const staging = path.join(sandbox, 'skills/.staging');
  const folders = [
    path.join(sandbox, 'skills/.busy'),
    ...(existsSync(staging) ? readdirSync(staging).map((name) => path.join(staging, name)) : []),
  ];
  for (const folder of folders) if (existsSync(folder)) utimesSync(folder, 1, 1);
}

const dataOf = ({ sandbox }: { readonly sandbox: string }) => path.join(sandbox, 'data/extensions/skill_registry');

describe('a command that is killed (S83)', () => {
  const FILES = {
    'from/letters/SKILL.md': skillText({ name: 'letters', body: 'New.\n' }),
    'from/notes/SKILL.md': skillText({ name: 'notes' }),
    'sandbox/skills/letters/SKILL.md': skillText({ name: 'letters', body: 'Old.\n' }),
  };
  const bodyOf = (file: string) => readFileSync(file, 'utf8').split('---\n').at(-1);

  it.each([
    ['before it was written down', { journal: false, oldMoved: false, newMoved: false }],
    ['when it was written down', { journal: true, oldMoved: false, newMoved: false }],
    ['when the old one was away', { journal: true, oldMoved: true, newMoved: false }],
    ['when the new one was in', { journal: true, oldMoved: true, newMoved: true }],
    ['when it took one away', { journal: true, oldMoved: true, newMoved: false, removes: true }],
  ] as const)('S83 is undone by the next install and by the next list: %s', async (_, point) => {
    for (const next of ['install', 'list'] as const) {
      const box = await installSandbox(FILES);
      await leftovers(box, point);
      const done = next === 'install' ? await box.install('from/notes') : await box.run('list', '');
      expect(done.error).toBe('');
      expect(bodyOf(path.join(box.sandbox, 'skills/letters/SKILL.md'))).toBe('Old.\n');
      expect(box.lock()['letters']).toBeUndefined();
      expect(box.skills().filter((name) => !name.startsWith('.'))).toEqual(next === 'install' ? ['letters', 'notes'] : ['letters']);
      expect(box.skills().includes('.staging')).toBe(next === 'list' && !point.journal); // what is only staged is swept by who installs
    }
  });

  it.each([
    ['an update', { journal: true, oldMoved: true, newMoved: true }],
    ['an update, before the new one was in', { journal: true, oldMoved: true, newMoved: false }],
    ['an update, before the old one was away', { journal: true, oldMoved: false, newMoved: false }],
    ['a removal', { journal: true, oldMoved: true, newMoved: false, removes: true }],
    ['a removal, before the old one was away', { journal: true, oldMoved: false, newMoved: false, removes: true }],
  ] as const)('S83 B1: what a person wrote since stays, and the old one is kept: %s', async (_, point) => {
    const box = await installSandbox(FILES);
    await leftovers(box, point);
    await box.write('sandbox/skills/letters/SKILL.md', skillText({ name: 'letters', body: 'Mine.\n' }));
    await box.write('sandbox/skills/letters/notes.md', 'of a week');
    const found = (await box.registry().refresh()).diagnostics.map(({ code, file }) => [code, file]);
    const skills = path.join(box.sandbox, 'skills');
    expect((await box.install('from/notes')).error).toBe('');
    expect(bodyOf(path.join(skills, 'letters/SKILL.md'))).toBe('Mine.\n');
    expect(readFileSync(path.join(skills, 'letters/notes.md'), 'utf8')).toBe('of a week');
    expect(found).toEqual(point.oldMoved ? [['skills_kept', path.join(skills, '.kept')]] : []);
    if (!point.oldMoved) return;
    const [kept] = readdirSync(path.join(skills, '.kept'));
    expect(kept).toMatch(/^letters-/);
    expect(bodyOf(path.join(skills, '.kept', kept!, 'SKILL.md'))).toBe('Old.\n');
    expect((await box.run('list', '', { all: true })).text).toContain('contains earlier versions of skills');
  });

  it('S83 the lock file goes back too, and a copy that a person made of the new one stays', async () => {
    const box = await installSandbox(FILES);
    expect((await box.install('from/notes')).error).toBe('');
    const notes = path.join(box.sandbox, 'skills/notes');
    const { notes: before } = box.lock();
    const staged = path.join(box.sandbox, 'skills/.staging/abc');
    await mkdir(path.join(staged, 'old'), { recursive: true });
    await rename(notes, path.join(staged, 'old/0'));
    const lockFile = path.join(box.sandbox, 'skills.lock.json');
    const both = readFileSync(lockFile, 'utf8');
    await writeFile(lockFile, '{"version":1,"skills":{}}');
    await cp(path.join(box.project, 'from/letters'), path.join(staged, 'new/extra'), { recursive: true });
    await cp(path.join(staged, 'new/extra'), path.join(box.sandbox, 'skills/extra'), { recursive: true });
    const added = await entry(path.join(staged, 'new/extra'));
    journal(box, [
      { folder: 'notes', id: 'notes', from: null, entry: null, before, old: before!.digest, next: null },
      { folder: 'extra', id: 'extra', from: 'new/extra', entry: added, before: null, old: null, next: added.digest },
    ]);
    await box.registry().refresh();
    expect([readFileSync(lockFile, 'utf8'), await treeDigest(notes), box.skills()]).toEqual([
      both,
      before!.digest,
      ['extra', 'letters', 'notes'],
    ]);
  });

  it('T6 F2: a journal that came with the folder is not believed: nothing outside is moved, nothing inside is lost', async () => {
    const box = await installSandbox({ ...FILES, '.docs/private.md': 'mine' });
    const skills = path.join(box.sandbox, 'skills');
    const directory = path.join(skills, '.staging/a');
    await mkdir(directory, { recursive: true });
    const change = { folder: 'stolen', id: 'stolen', from: '../../../../.docs', entry: await entry(path.join(box.project, 'from/notes')) };
    await writeFile(path.join(directory, 'commit.json'), JSON.stringify([change]));
    dead(box);
    expect((await box.install('from/notes')).error).toBe('');
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
    const directory = path.join(skills, '.staging/abc');
    await mkdir(directory, { recursive: true });
    symlinkSync(box.project, path.join(directory, 'way'));
    journal(box, [{ id: 'stolen', entry: null, before: null, old: null, next: null, ...bad }]);
    expect((await box.install('from/notes')).error).toContain('is not a folder in');
    expect(readFileSync(path.join(box.project, '.docs/private.md'), 'utf8')).toBe('mine');
    expect(box.skills()).toEqual(['.staging', 'letters']);
  });

  it('S83: a journal as earlier versions wrote it is undone, too', async () => {
    const box = await installSandbox(FILES);
    await leftovers(box, { journal: true, oldMoved: true, newMoved: false });
    const installs = stateFolder(dataOf(box), 'installs');
    const { root, changes } = JSON.parse(String(installs.read('abc.json'))) as { root: string; changes: unknown };
    installs.writeNow('abc.json', JSON.stringify({ skills: root, changes }));
    expect((await box.run('list', '')).error).toBe('');
    expect(bodyOf(path.join(box.sandbox, 'skills/letters/SKILL.md'))).toBe('Old.\n');
  });

  it('S83: a journal that cannot be read loses nothing, and a list says the cure', async () => {
    const box = await installSandbox(FILES);
    await leftovers(box, { journal: true, oldMoved: true, newMoved: false });
    stateFolder(dataOf(box), 'installs').writeNow('abc.json', '{');
    const { text } = await box.run('list', '', { all: true });
    expect(text).toContain(`${path.join(box.sandbox, 'skills')}`);
    expect(text).toContain('move the file away');
    expect(readFileSync(path.join(box.sandbox, 'skills/.staging/abc/old/0/SKILL.md'), 'utf8')).toContain('Old.');
  });

  it('T6: what had begun and is confirmed in another data folder is left as it is', async () => {
    const box = await installSandbox(FILES);
    await leftovers(box, { journal: false, oldMoved: true, newMoved: false });
    expect((await box.install('from/notes')).error).toBe('');
    const left = path.join(box.sandbox, 'skills/.staging/abc');
    expect(readFileSync(path.join(left, 'old/0/SKILL.md'), 'utf8')).toContain('Old.');
    const old = await treeDigest(path.join(left, 'old/0'));
    const next = await entry(path.join(left, 'new/letters'));
    journal(box, [{ folder: 'letters', id: 'letters', from: 'new/letters', entry: next, before: null, old, next: next.digest }]);
    expect((await box.install('from/notes', { force: true, yes: true })).error).toBe('');
    expect([box.skills(), bodyOf(path.join(box.sandbox, 'skills/letters/SKILL.md'))]).toEqual([['letters', 'notes'], 'Old.\n']);
  });

  it('T6 F2: a link in the place of the staging folder or of the lock file is followed by nobody', async () => {
    const box = await installSandbox({ ...FILES, 'theirs/.bashrc': 'mine', 'other/skills.lock.json': '{"version":1,"skills":{}}' });
    const skills = path.join(box.sandbox, 'skills');
    symlinkSync(path.join(box.project, 'theirs'), path.join(skills, '.staging'));
    expect((await box.install('from/notes')).error).toContain('a link is in the place of a folder');
    rmSync(path.join(skills, '.staging'));
    symlinkSync(path.join(box.project, 'other/skills.lock.json'), path.join(box.sandbox, 'skills.lock.json'));
    expect((await box.install('from/notes')).error).toContain('there is a link in its place');
    expect(readdirSync(path.join(box.project, 'theirs'))).toEqual(['.bashrc']);
    expect(readFileSync(path.join(box.project, 'other/skills.lock.json'), 'utf8')).toBe('{"version":1,"skills":{}}');
  });

  it('S83 kill -9 while it fetches leaves nothing that is offered, and the next command sweeps', async () => {
    const box = await installSandbox({ 'from/notes/SKILL.md': skillText({ name: 'notes' }) });
    const at = await serverOf((_, response) => void response.writeHead(200).write('PK')); // and never ends
    const source = `import { installSkills } from '${ROOT}/sandbox/extensions/skill_install/install/install.ts';
      import { targetsAt } from '${ROOT}/sandbox/extensions/skill_registry/writing/targets.ts';
      import { Writer } from '${ROOT}/sandbox/extensions/skill_registry/writing/writer.ts';
      const clock = { now: () => Date.now(), after: (ms, run) => { const timer = setTimeout(run, ms); return () => clearTimeout(timer); } };
      const io = { print() {}, json() {}, interactive: false };
      const request = { from: '${at}/a.zip', source: 'project', skills: [], all: true };
      const places = { sandbox: '${box.sandbox}', home: null };
      const writer = new Writer({ targets: targetsAt(places, '${dataOf(box)}', clock) });
      const use = ({ id }) => (id === 'places' ? places : writer);
      void installSkills(request, { use, clock, config: {} }, io, new AbortController().signal);`;
    const child = startProgram(await bundleText(source, box.project));
    const staging = path.join(box.sandbox, 'skills/.staging');
    const fetching = () => existsSync(staging) && readdirSync(staging).some((name) => existsSync(path.join(staging, name, 'archive.zip')));
    const ended = exitOf(child);
    await Promise.race([until(fetching), ended]);
    expect(fetching()).toBe(true);
    child.kill('SIGKILL');
    await ended;
    expect(box.skills()).toEqual(['.staging']);
    expect((await box.registry().refresh()).all).toEqual([]); // hidden folders hold no skills
    dead(box);
    expect((await box.install('from/notes')).error).toBe('');
    expect(box.skills()).toEqual(['notes']);
  });
});
