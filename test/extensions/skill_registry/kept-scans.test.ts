import { createHash } from 'node:crypto';
import { mkdir, rename, symlink } from 'node:fs/promises';
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { conformanceCases } from '@pith/skill-conformance';
import { parseSkillFile } from '@pith/skill-files';
import { expect, it } from 'vitest';
import { SCANS_FORMAT } from '../../../sandbox/extensions/skill_registry/scan/kept-scans.ts';
import { words } from '../../words.ts';
import { skillSandbox, skillText } from './skill-sandbox.ts';

/** Files that were just written are read again: this clock is past that. */
const clock = { ...systemClock, now: () => systemClock.now() + 5000 };

async function box() {
  const skills = ['alpha', 'beta', 'gamma'].map((name) => [
    `sandbox/skills/${name}/SKILL.md`,
    skillText({ name, more: 'tags: [one, two]\n' }),
  ]);
  const made = await skillSandbox({
    ...Object.fromEntries(skills),
    'sandbox/skills/deep/delta/skill.md': skillText({ name: 'Delta', more: 'default_enabled: false\n' }),
  });
  /** What a new process finds, and how many files it has to read for it. */
  const started = async () => {
    let read = -1;
    const info = (message: string, data?: { readonly read?: number }) => void (message === 'skills discovered' && (read = data!.read!));
    const registry = made.registry({
      clock,
      logger: { debug: () => {}, info: info as never, warn: () => {}, error: () => {} },
    });
    const { all, diagnostics } = await registry.refresh();
    await registry.close();
    return { read, all, diagnostics };
  };
  const file = path.join(made.sandbox, 'data/extensions/skill_registry/.cache/skills.scans');
  return { ...made, started, file };
}

it('performance: a start with unchanged skills reads none of them, and finds the same', async () => {
  const { started } = await box();
  const first = await started();
  expect(first.read).toBe(4);
  expect(await started()).toEqual({ ...first, read: 0 });
});

it('performance: a start reads what changed, came or broke since, and forgets what went', async () => {
  const { started, write, remove } = await box();
  await started();
  await write('sandbox/skills/beta/SKILL.md', skillText({ name: 'beta', description: 'Is another now.' }));
  await write('sandbox/skills/new/SKILL.md', skillText({ name: 'new' }));
  await write('sandbox/skills/gamma/SKILL.md', '---\nname: [\n---\n');
  await remove('sandbox/skills/alpha');
  const { read, all } = await started();
  expect(read).toBe(3);
  expect(all.map(({ id, state }) => `${id} ${state}`)).toEqual(['beta offered', 'delta disabled', 'gamma invalid', 'new offered']);
  expect(all[0]).toMatchObject({ description: 'Is another now.', tags: [] });
});

it.each([
  ['cut off', (text: string) => text.slice(0, -20)],
  ['changed in one place', (text: string) => text.replace('"one"', '"own"')],
  ['of another version', (text: string) => text.replace(/\n\d+ (?=[0-9a-f]{64}$)/u, `\n${SCANS_FORMAT + 1} `)],
  ['no file of ours', () => 'hello'],
  ['empty', () => ''],
])('performance: what was kept and is %s counts for nothing', async (_name, damage) => {
  const { started, file } = await box();
  const first = await started();
  writeFileSync(file, damage(readFileSync(file, 'utf8')));
  expect(await started()).toEqual(first);
  expect((await started()).read).toBe(0); // and is written anew
});

it('performance: a folder in the place of what is kept is said with the cure, and each start reads all skills', async () => {
  const { started, file } = await box();
  const first = await started();
  rmSync(file);
  mkdirSync(file);
  const message = `${file} is not used: a folder is in its place, so each start reads all skills`;
  const said = { severity: 'warning', code: 'state_refused', message, cure: expect.stringContaining('move it away') };
  for (let time = 0; time < 2; time++) expect(await started()).toEqual({ ...first, diagnostics: [said, ...first.diagnostics] });
});

it('performance: a file with its old times is another one', async () => {
  const { started, write } = await box();
  const file = await write('sandbox/skills/alpha/SKILL.md', skillText({ name: 'alpha', description: 'Is aaa.' }));
  utimesSync(file, 1_700_000_000, 1_700_000_000);
  await started();
  await write('sandbox/skills/alpha/SKILL.md', skillText({ name: 'alpha', description: 'Is bbb.' }));
  utimesSync(file, 1_700_000_000, 1_700_000_000);
  expect((await started()).all[0]!.description).toBe('Is bbb.');
});

it('performance: where a linked SKILL.md leads, and what a plugin.json says, is looked at in each start', async () => {
  const { started, write, sandbox } = await box();
  const mark = (name: string) => write('sandbox/skills/plug/.claude-plugin/plugin.json', JSON.stringify({ name }));
  await write('sandbox/skills/_s/real.md', skillText({ name: 'linked' }));
  await mkdir(path.join(sandbox, 'skills/linked'));
  await symlink('../_s/real.md', path.join(sandbox, 'skills/linked/SKILL.md'));
  await mark('former');
  await write('sandbox/skills/plug/skills/start/SKILL.md', skillText({ name: 'start' }));
  const states = async () => (await started()).all.map(({ id, state }) => `${id} ${state}`).filter((text) => /linked|start/.test(text));
  expect(await states()).toEqual(['former:start offered', 'linked offered']);
  await rename(path.join(sandbox, 'skills/_s'), path.join(sandbox, 'moved'));
  await symlink('../moved', path.join(sandbox, 'skills/_s'));
  await mark('later');
  expect(await states()).toEqual(['later:start offered', 'linked invalid']);
});

it('performance: the format of what is kept is raised when a SKILL.md is read otherwise', async () => {
  const hash = createHash('sha256');
  for (const { text } of TEXTS) hash.update(JSON.stringify(await parseSkillFile(text, { id: 'x', file: '/x/SKILL.md', mode: 'load' })));
  expect([SCANS_FORMAT, hash.digest('hex').slice(0, 16)]).toEqual([4, '6731206c59677d50']);
});

it('performance: the format of what is kept is raised when a record has another shape', async () => {
  const { started, file } = await box();
  await started();
  const [body = ''] = readFileSync(file, 'utf8').split('\n');
  const keys = new Set<string>();
  JSON.parse(body, (key, value: unknown) => {
    if (!/^\d*$|\//u.test(key)) keys.add(`${key}:${Array.isArray(value) ? 'list' : typeof value}`);
    return value;
  });
  const shape = words(`
    allowedTools:object bodyTokens:object brief:object children:list code:string column:number cure:string defaultEnabled:boolean
    description:string diagnostics:list digest:object directory:string examples:list extra:object fields:object file:string good:object
    hasFiles:boolean id:string line:number links:list message:string name:string oddFile:object parsed:object plugin:object
    realDirectory:string requires:list scripts:list settled:boolean severity:string stamp:string tags:list tokens:number toolsets:list
    triggers:object valid:boolean version:object
  `);
  expect([SCANS_FORMAT, [...keys].sort()]).toEqual([4, shape]);
});

it('S83 what a process left that was killed while it wrote goes with the next file', async () => {
  const { started, file, write } = await box();
  await started();
  const draft = (name: string) => path.join(path.dirname(file), `.skills.scans.${name}`);
  for (const name of ['former', 'present']) writeFileSync(draft(name), 'half');
  utimesSync(draft('former'), 1_700_000_000, 1_700_000_000);
  await write('sandbox/skills/new/SKILL.md', skillText({ name: 'new' }));
  await started();
  expect([existsSync(draft('former')), existsSync(draft('present'))]).toEqual([false, true]);
});

const TEXTS = (await conformanceCases()).flatMap(({ files }) =>
  Object.values(files).flatMap((text) => (typeof text === 'string' ? { text } : [])),
);
