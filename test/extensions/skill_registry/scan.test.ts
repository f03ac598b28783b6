import { copyFile, link, mkdir, rename, symlink, utimes } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { lintSkill, scanSource } from '@pith/skill-files';
import { buildSnapshot } from '../../../sandbox/extensions/skill_registry/scan/snapshot.ts';
import { ownSkill, skillSandbox, skillsIn, skillText } from './skill-sandbox.ts';
import { folderWith } from '../../places.ts';
import { words } from '../../words.ts';
import { HOPELESS, writeStrangers } from '../../fixtures/strangers.ts';

/** Everything in a folder, as the registry looks at it. */
const scanOf = (source: Parameters<typeof scanSource>[0]) =>
  scanSource(source, null, { trustedLinks: [], now: () => 0, goodBody: () => null });

const ids = (snapshot: { skills: ReadonlyMap<string, { state: string }> }) =>
  [...snapshot.skills].filter(([, skill]) => skill.state === 'offered').map(([id]) => id);

describe('the scan', () => {
  it('S1 takes the directory name as id and a file of another case with a warning', async () => {
    const box = await skillSandbox({
      'sandbox/skills/one/SKILL.md': skillText({ name: 'Anything' }),
      'sandbox/skills/two/skill.md': skillText({ name: 'two' }),
    });
    const { skills } = await box.registry().refresh();
    expect([...skills.keys()]).toEqual(['one', 'two']);
    expect(skills.get('two')?.diagnostics).toMatchObject([{ severity: 'warning', code: 'file_name_case' }]);
  });

  it('S1 prefers SKILL.md, also when it comes later', async () => {
    const box = await skillSandbox({ 'sandbox/skills/two/skill.md': skillText({ name: 'two', description: 'Old one.' }) });
    const registry = box.registry();
    expect((await registry.refresh()).skills.get('two')?.description).toBe('Old one.');
    await box.write('sandbox/skills/two/SKILL.md', skillText({ name: 'two', description: 'New one.' }));
    expect((await registry.refresh()).skills.get('two')?.description).toBe('New one.');
  });

  it('S11 finds grouped skills to depth 5, skips hidden folders and node_modules, and ends at a SKILL.md', async () => {
    const box = await skillSandbox();
    const folders = words('a g/b g/h/c g/h/i/d g/h/i/j/e g/h/i/j/k/too-deep .hidden/x node_modules/y .git/z a/nested');
    for (const folder of folders) await box.write(`sandbox/skills/${folder}/SKILL.md`, skillText({ name: path.basename(folder) }));
    expect(ids(await box.registry().refresh())).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('S11 G10 a SKILL.md in the source itself hides nothing, and a folder of that name is mentioned', async () => {
    const box = await skillSandbox({
      'sandbox/skills/SKILL.md': skillText(),
      'sandbox/skills/odd/SKILL.md/text.txt': 'x',
      ...ownSkill('good'),
    });
    const snapshot = await box.registry().refresh();
    expect(ids(snapshot)).toEqual(['good']);
    const warnings = snapshot.diagnostics.filter(({ severity }) => severity === 'warning');
    expect(warnings.map(({ code }) => code).sort()).toEqual(['skill_at_root', 'skill_file_is_folder']);
  });

  it('S11 looks into at most 20,000 directories and says so', async () => {
    const directory = folderWith();
    execFileSync('bash', ['-c', 'mkdir -p {a..u}/d{1..1000}'], { cwd: directory });
    onTestFinished(() => void execFileSync('rm', ['-rf', directory]));
    const scan = await scanOf({ label: 'sandbox/skills', directory, configured: false });
    expect(scan.diagnostics).toMatchObject([{ severity: 'warning', code: 'source_too_large' }]);
    expect(scan.directories.size).toBe(20_000);
  });

  it('S12 follows a link inside its source once, ends loops and finds nothing twice', async () => {
    const box = await skillSandbox({ ...ownSkill('real'), ...skillsIn('sandbox/skills/.store', 'kept') });
    const links = { again: 'real', kept: '.store/kept', 'kept-too': '.store/kept', loop: '.', round: 'round' };
    for (const [name, target] of Object.entries(links)) await symlink(target, `${box.sandbox}/skills/${name}`);
    const snapshot = await box.registry().refresh();
    expect(ids(snapshot)).toEqual(['kept', 'real']);
    expect(snapshot.skills.get('kept')).toMatchObject({
      directory: `${box.sandbox}/skills/kept`,
      realDirectory: `${box.sandbox}/skills/.store/kept`,
    });
    expect(snapshot.diagnostics.map(({ code }) => code)).toEqual(['link_broken']);
  });

  it('S12 lists a link that leads out as refused, and follows it when its target is trusted', async () => {
    const box = await skillSandbox({ ...skillsIn('outside', 'skill'), 'sandbox/skills/filed/readme.txt': 'x' });
    await symlink('../../outside/skill', `${box.sandbox}/skills/skill`);
    await symlink('../../../outside/skill/SKILL.md', `${box.sandbox}/skills/filed/SKILL.md`);
    const refused = await box.registry().refresh();
    expect(ids(refused)).toEqual([]);
    expect(refused.diagnostics).toMatchObject([
      {
        severity: 'warning',
        code: 'link_refused',
        file: `${box.sandbox}/skills/skill`,
        cure: 'copy the skill here, or list the target under skills.trusted_links',
      },
    ]);
    expect(refused.skills.get('filed')).toMatchObject({ state: 'invalid', reason: expect.stringContaining('a link that leads out') });
    const trusted = await box.registry({ config: { trusted_links: ['outside'] }, dataDirectory: `${box.sandbox}/data/other` }).refresh();
    expect(ids(trusted)).toEqual(['filed', 'skill']);
    expect(trusted.diagnostics).toEqual([]);
  });

  it('S12 a fifo or a directory in place of SKILL.md does not hang and hides nothing', async () => {
    const box = await skillSandbox({ 'sandbox/skills/good/SKILL.md': skillText({ name: 'good' }) });
    await mkdir(`${box.sandbox}/skills/pipe`);
    execFileSync('mkfifo', [`${box.sandbox}/skills/pipe/SKILL.md`]);
    await mkdir(`${box.sandbox}/skills/odd/SKILL.md`, { recursive: true });
    const snapshot = await box.registry().refresh();
    expect(ids(snapshot)).toEqual(['good']);
    expect(snapshot.skills.get('pipe')?.state).toBe('invalid');
  });

  it('S12 two skills of one id that have become pipes are not read to compare them', async () => {
    const box = await skillSandbox({ 'one/a/SKILL.md': skillText({ name: 'a' }), 'two/a/SKILL.md': skillText({ name: 'a' }) });
    const registry = box.registry({ config: { sources: { replace: ['one', 'two'] } } });
    await registry.refresh();
    for (const source of ['one', 'two']) {
      await box.remove(`${source}/a/SKILL.md`);
      execFileSync('mkfifo', [`${box.project}/${source}/a/SKILL.md`]);
    }
    const { all } = await registry.refresh();
    expect(all.flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code))).toContain('file_not_regular');
  });

  it('S12 a SKILL.md with several hard links is invalid, in the scan and when its body is read', async () => {
    const box = await skillSandbox({ ...ownSkill('own'), 'outside.md': skillText({ name: 'taken' }) });
    await mkdir(`${box.sandbox}/skills/taken`);
    await link(`${box.project}/outside.md`, `${box.sandbox}/skills/taken/SKILL.md`);
    const registry = box.registry();
    const snapshot = await registry.refresh();
    expect(ids(snapshot)).toEqual(['own']);
    expect(snapshot.skills.get('taken')).toMatchObject({
      state: 'invalid',
      reason: expect.stringContaining('several hard links'),
      diagnostics: [{ cure: expect.stringContaining('copy it here') }],
    });
    await expect(registry.readBody(snapshot.skills.get('taken')!)).rejects.toMatchObject({ code: 'skill_not_found' });
    const own = snapshot.skills.get('own')!;
    await registry.studyBody(own);
    await box.remove('sandbox/skills/own/SKILL.md');
    await link(`${box.project}/outside.md`, `${box.sandbox}/skills/own/SKILL.md`);
    expect(await registry.readBody(own)).toMatchObject({ stale: expect.stringContaining('several hard links') }); // the last good one
  });

  it('S16 an unreadable file is a diagnostic and the others go on', async () => {
    const box = await skillSandbox({ 'sandbox/skills/good/SKILL.md': skillText({ name: 'good' }) });
    await mkdir(`${box.sandbox}/skills/bad`);
    await symlink('SKILL.md', `${box.sandbox}/skills/bad/SKILL.md`);
    const snapshot = await box.registry().refresh();
    expect(ids(snapshot)).toEqual(['good']);
    expect(snapshot.diagnostics).toContainEqual(
      expect.objectContaining({ severity: 'warning', code: 'file_unreadable', file: `${box.sandbox}/skills/bad/SKILL.md` }),
    );
  });

  it('S16 a link that cannot be followed is put right by the file itself: chmod would change its target', async () => {
    const box = await skillSandbox();
    for (const [name, target] of [
      ['out', '/etc/passwd'],
      ['loop', 'SKILL.md'],
    ] as const) {
      await mkdir(`${box.sandbox}/skills/${name}`, { recursive: true });
      await symlink(target, `${box.sandbox}/skills/${name}/SKILL.md`);
    }
    const cure = 'remove the link and put the file itself in its place';
    const { skills } = await box.registry().refresh();
    expect(skills.get('out')?.diagnostics).toMatchObject([{ code: 'file_unreadable', cure }]);
    expect((await lintSkill('skills/loop', box.sandbox)).diagnostics).toMatchObject([{ code: 'file_unreadable', cure }]);
  });

  it.each([
    ['written over', (from: string, to: string) => copyFile(from, to)],
    ['renamed over it', (from: string, to: string) => rename(from, to)],
  ])('S22 notices a file of the same size and time that was %s', async (_, replace) => {
    const box = await skillSandbox({ ...ownSkill('demo', { description: 'Aaaa.' }), 'new.md': skillText({ description: 'Bbbb.' }) });
    const [demo, next] = [`${box.sandbox}/skills/demo/SKILL.md`, `${box.project}/new.md`];
    const age = (file: string) => utimes(file, 1_700_000_000, 1_700_000_000);
    for (const file of [demo, next]) await age(file);
    const registry = box.registry();
    expect((await registry.refresh()).skills.get('demo')?.description).toBe('Aaaa.');
    await replace(next, demo);
    await age(demo);
    expect((await registry.refresh()).skills.get('demo')?.description).toBe('Bbbb.');
  });

  it('S22 reads only what changed and keeps the snapshot when nothing did', async () => {
    const box = await skillSandbox(skillsIn('sandbox/skills', 'a', 'b'));
    const registry = box.registry({ clock: { now: () => 0, sleep: async () => undefined, after: () => () => undefined } });
    const first = await registry.refresh();
    expect(await registry.refresh()).toBe(first);
    await box.write('sandbox/skills/b/SKILL.md', skillText({ name: 'b', description: 'Changed now.' }));
    const second = await registry.refresh();
    expect(second.skills.get('a')).toBe(first.skills.get('a'));
    expect([second.generation, second.skills.get('b')?.description]).toEqual([2, 'Changed now.']);
    expect(first.skills.get('b')?.description).toBe('Does a thing. Use it for things.');
  });

  it('S21 lets others work after at most 250 files, and after every 400 skills of a snapshot, each time that it goes through them', async () => {
    const box = await skillSandbox();
    for (let index = 0; index < 600; index += 1) await box.write(`sandbox/skills/s${index}/SKILL.md`, skillText({ name: `s${index}` }));
    const registry = box.registry();
    const { mock, mockRestore } = vi.spyOn(fs, 'openSync');
    syncBuiltinESMExports(); // what imports it by its name calls the spy, too
    onTestFinished(() => (mockRestore(), syncBuiltinESMExports()));
    let [last, most, running] = [0, 0, true];
    const beat = () => {
      most = Math.max(most, mock.calls.length - last);
      last = mock.calls.length;
      if (running) setImmediate(beat);
    };
    setImmediate(beat);
    const snapshot = await registry.refresh();
    running = false;
    expect(snapshot.skills.size).toBe(600);
    expect(mock.calls.length).toBeGreaterThanOrEqual(600);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(250);

    const source = registry.sources.at(-1)!;
    const scan = await scanOf(source);
    const [found] = scan.skills.values();
    const many = Array.from({ length: 3500 }, (_, at) => [`${at}`, { ...found!, id: `n${at}` }] as const);
    const pieces = buildSnapshot([{ source, scan: { ...scan, skills: new Map(many) } }], {}, registry.current());
    let yields = 0;
    let step = pieces.next();
    for (; !step.done; step = pieces.next()) yields++;
    expect([yields, step.value.all.length]).toEqual([19, 3500]);
  });
});

describe('2,000 skills of strangers', () => {
  it('S6 S11 S16 none breaks another, and each refusal has line, reason and cure', async () => {
    const box = await skillSandbox();
    const written = writeStrangers(path.join(box.project, 'team'), 2000);
    const { skills, all, diagnostics } = await box.registry({ config: { sources: ['team'] } }).refresh();
    const found = [...written].filter(([, shape]) => shape !== 'nested'); // a SKILL.md ends the descent
    expect([...skills.keys()].sort()).toEqual(found.map(([id]) => id).sort());
    const invalid = all.filter(({ state }) => state === 'invalid');
    const hopeless = found.filter(([, shape]) => HOPELESS.has(shape));
    expect(invalid.map(({ id }) => id)).toEqual(hopeless.map(([id]) => id).sort());
    expect(invalid.length).toBeGreaterThan(5);
    for (const { reason, diagnostics: its, file } of invalid) {
      expect(reason).toMatch(/line \d+/);
      expect(its).toContainEqual(
        expect.objectContaining({ severity: 'error', file, line: expect.any(Number), cure: expect.stringMatching(/\w/) }),
      );
    }
    expect(all.filter(({ state }) => state === 'offered').length).toBe(all.length - invalid.length);
    expect(diagnostics).toEqual([]);
  });
});
