import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { treeDigest } from '@pith/skill-files';
import { until } from '../../waiting.ts';
import { agent, call, settings, skill, skillKernel } from './skill-kernel.ts';
import { type Asked, skillSandbox, skillText } from './skill-sandbox.ts';

const FILE = 'sandbox/skills/review/SKILL.md';
const SCRIPT = 'sandbox/skills/review/scripts/run.sh';
const text = (version: string, body: string) => skillText({ name: 'review', more: `version: ${version}\n`, body });

interface Row {
  readonly version: string;
  readonly number: number;
  readonly sha256: string | null;
  readonly at: string;
  readonly by: string;
  readonly how: string;
  readonly reason?: string;
}

/** A project with the skill `review`, which has a script and a binary file. */
async function project(files: Readonly<Record<string, string>> = {}) {
  const box = await skillSandbox({ [FILE]: text('1.0.0', 'One.\n'), [SCRIPT]: '#!/bin/sh\necho one\n', ...files });
  chmodSync(path.join(box.project, SCRIPT), 0o755);
  const run = (name: string, words: Readonly<Record<string, string>> = {}, given: Asked = {}) =>
    box.attempt(`skills ${name}`, { ...given, arguments: { id: 'review', ...words } });
  const rows = async (id = 'review') => (await run('history', { id }, { json: true })).json as unknown as Row[];
  const folder = path.join(box.sandbox, 'skills/review');
  return { ...box, run, rows, folder, digest: () => treeDigest(folder) };
}

const data = ({ sandbox }: { readonly sandbox: string }) => path.join(sandbox, 'data/extensions/skill_registry');
const historyFiles = (box: { readonly sandbox: string }) =>
  readdirSync(path.join(data(box), 'history')).filter((name) => name.endsWith('.json'));

describe('P7: the history of a skill', () => {
  it('P7: has what was found, edited by hand, removed and put back, the newest first, each with the folder as it was', async () => {
    const box = await project();
    const first = await box.digest();
    expect(await box.rows()).toEqual([
      { version: '1.0.0', number: 1, sha256: first.slice(7), at: expect.stringMatching(/^\d{4}-.*Z$/), by: 'person', how: 'found' },
    ]);
    await box.write(FILE, text('1.1.0', 'Two.\n'));
    await box.write('sandbox/skills/review/data.bin', new Uint8Array([0, 1, 2]));
    chmodSync(path.join(box.project, SCRIPT), 0o644);
    const second = await box.digest();
    expect((await box.rows()).map(({ version, how, sha256 }) => [version, how, sha256])).toEqual([
      ['1.1.0', 'by_hand', second.slice(7)],
      ['1.0.0', 'found', first.slice(7)],
    ]);
    expect((await box.run('remove', {}, { options: { yes: true } })).error).toBe(null);
    expect((await box.rows()).map(({ version, how, sha256 }) => [version, how, sha256])).toEqual([
      ['3', 'remove', null],
      ['1.1.0', 'by_hand', second.slice(7)],
      ['1.0.0', 'found', first.slice(7)],
    ]);
    expect((await box.run('rollback', { version: '1.0.0' }, { options: { yes: true } })).error).toBe(null);
    expect(await box.digest()).toBe(first);
    const [newest] = await box.rows();
    expect(newest).toMatchObject({ number: 4, version: '1.0.0', how: 'rollback', reason: 'back to version 1', sha256: first.slice(7) });
    const shown = (await box.run('history')).text;
    expect(shown).toMatch(
      /^NUMBER +VERSION +WHEN +HOW +BY +SHA256 +WHY\n4 +1\.0\.0 .* rollback +person +[0-9a-f]{12} +back to version 1\n3 .* removed/,
    );
  });

  it('P7: to look at it writes nothing into the folder of skills', async () => {
    const box = await project();
    const times = () => [box.folder, path.dirname(box.folder)].map((folder) => statSync(folder).mtimeMs);
    const before = times();
    await box.rows();
    await box.write(FILE, text('1.0.1', 'Two.\n'));
    await box.run('diff');
    expect(times()).toEqual(before);
  });

  it('P7: keeps the same content once, and a version that came back is a version again', async () => {
    const box = await project();
    const versions = () => readdirSync(path.join(data(box), 'versions')).flatMap((id) => readdirSync(path.join(data(box), 'versions', id)));
    for (const body of ['One.\n', 'Two.\n', 'One.\n', 'One.\n']) {
      await box.write(FILE, text('1.0.0', body));
      await box.rows();
    }
    expect((await box.rows()).map(({ how }) => how)).toEqual(['by_hand', 'by_hand', 'found']);
    expect(versions()).toHaveLength(4); // two folders, each with its facts
  });

  it('P7: has what was made, installed, updated and removed by commands, also of a skill of a plugin', async () => {
    const box = await project({ 'from/letters/SKILL.md': skillText({ name: 'letters', body: 'First.\n' }) });
    expect((await box.run('new', { id: 'fresh' })).error).toBe(null);
    expect((await box.rows('fresh')).map(({ how, version }) => [how, version])).toEqual([['new', '0.1.0']]);
    const install = (force: boolean) =>
      box.run('install', { from: path.join(box.project, 'from/letters') }, { options: { yes: true, force } });
    expect((await install(false)).error).toBe(null);
    await box.write('from/letters/SKILL.md', skillText({ name: 'letters', body: 'Second.\n' }));
    expect((await box.attempt('skills update', { arguments: { id: ['letters'] }, options: { yes: true } })).error).toBe(null);
    await box.write('sandbox/skills/letters/SKILL.md', skillText({ name: 'letters', body: 'By hand.\n' }));
    expect((await install(true)).error).toBe(null);
    expect((await box.rows('letters')).map(({ how }) => how)).toEqual(['install', 'by_hand', 'update', 'install']);
    expect((await box.run('rollback', { id: 'letters', version: '3' }, { options: { yes: true } })).error).toBe(null);
    expect(readFileSync(path.join(box.sandbox, 'skills/letters/SKILL.md'), 'utf8')).toContain('By hand.');
  });

  it('P7: of a skill that lies where Pith writes nothing there is none, which is said with the cure', async () => {
    const box = await skillSandbox({ '.claude/skills/other/SKILL.md': skillText({ name: 'other' }) });
    expect((await box.attempt('skills history', { arguments: { id: 'other' } })).error).toMatchObject({
      code: 'history_absent',
      message: "the skill 'other' has no history: it lies in '.claude/skills', where Pith changes nothing",
      cure: 'to change it, copy its folder to sandbox/skills or ~/.pith/skills',
    });
    expect((await box.attempt('skills history', { arguments: { id: 'nothing' } })).error).toMatchObject({ code: 'skill_not_found' });
  });

  it('P7 U41: a history that is damaged, or of a newer Pith, is told and never written over', async () => {
    const box = await project();
    await box.rows();
    const [name] = historyFiles(box);
    const file = path.join(data(box), 'history', name!);
    const whole = readFileSync(file, 'utf8');
    writeFileSync(file, '{"id":');
    await box.write(FILE, text('1.0.1', 'Two.\n'));
    expect((await box.run('history')).error).toMatchObject({ code: 'history_damaged', where: file });
    expect((await box.run('remove', {}, { options: { yes: true } })).error).toMatchObject({ code: 'history_damaged' });
    expect([readFileSync(file, 'utf8'), existsSync(box.folder)]).toEqual(['{"id":', true]);
    for (const [damaged, why] of [
      ['{"id":5}', "'id' is not valid"],
      ['[]', 'the file is not valid'],
      ['gone\nwrong', 'not valid JSON'],
      [whole.replace('"format":1', '"format":2'), "'format' is not valid"],
    ] as const) {
      writeFileSync(file, damaged);
      const { message } = (await box.run('history')).error as Error;
      expect(message).toContain(why);
      expect(message).not.toContain('\n');
    }
  });
});

describe('P7: a change that is cut off', () => {
  /** Leaves a history as a killed process does that was about to make this change. */
  const begin = (box: { readonly sandbox: string }, pending: object) => {
    const file = path.join(data(box), 'history', historyFiles(box)[0]!);
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), pending }));
  };
  const note = { version: '2.0.0', at: 1, how: 'proposal', by: 'writer', reason: 'It was wrong.', proposal: 'review-1' };

  it('P7: counts where the folder has it, with who made it and why', async () => {
    const box = await project();
    await box.rows();
    await box.write(FILE, text('2.0.0', 'Proposed.\n'));
    begin(box, { ...note, digest: await box.digest() });
    expect((await box.rows())[0]).toMatchObject({
      number: 2,
      how: 'proposal',
      by: 'writer',
      reason: 'It was wrong.',
      proposal: 'review-1',
    });
    expect(await box.rows()).toHaveLength(2);
  });

  it('P7: is dropped where the folder is as it was, and where a person wrote since that is what counts', async () => {
    const box = await project();
    await box.rows();
    const digest = `sha256:${'ab'.repeat(32)}`;
    begin(box, { ...note, digest });
    expect((await box.rows()).map(({ how }) => how)).toEqual(['found']);
    begin(box, { ...note, digest });
    await box.write(FILE, text('1.0.1', 'Mine.\n'));
    expect((await box.rows()).map(({ how }) => how)).toEqual(['by_hand', 'found']);
  });
});

describe('P7: skills diff', () => {
  it('P7: shows the whole tree: texts as a unified diff, other files by their digest, and what may be run', async () => {
    const box = await project();
    await box.rows();
    await box.write(FILE, text('1.1.0', 'Two.\n'));
    await box.write('sandbox/skills/review/data.bin', new Uint8Array([0, 1, 2]));
    chmodSync(path.join(box.project, SCRIPT), 0o644);
    await box.rows();
    const last = (await box.run('diff')).text;
    expect(last).toContain('review: from 1 (1.0.0, ');
    expect(last).toMatch(/changed +SKILL\.md\n--- a\/SKILL\.md\n\+\+\+ b\/SKILL\.md\n@@/);
    expect(last).toContain('-One.\n+Two.');
    expect(last).toMatch(/added +data\.bin \(too large to show, or not text: sha256 [0-9a-f]{12}\)/);
    expect(last).toMatch(/changed +scripts\/run\.sh\nit was a program, and is a file now/);
    expect((await box.run('diff', { from: '1' })).text).toBe(last);
    expect((await box.run('diff', { from: '1.0.0', to: '1.1.0' })).text).toBe(last);
    const back = (await box.run('diff', { from: '2', to: '1' }, { json: true })).json as { changes: { path: string; change: string }[] };
    expect(back.changes.map(({ path: name, change }) => [name, change])).toEqual([
      ['SKILL.md', 'changed'],
      ['data.bin', 'removed'],
      ['scripts/run.sh', 'changed'],
    ]);
    expect((await box.run('diff', { from: '2' })).text).toContain('They are identical.');
  });
});

describe('P7 P23: skills rollback', () => {
  /** Three versions, the last of them by hand. */
  const three = async () => {
    const box = await project();
    const first = await box.digest();
    await box.rows();
    await box.write(FILE, text('1.1.0', 'Two.\n'));
    await box.rows();
    await box.write(FILE, text('1.1.0', 'Three.\n'));
    await box.write('sandbox/skills/review/more/notes.md', 'notes');
    return { ...box, first };
  };

  it('P23: puts the whole tree back, with what may be run, after recording what was there', async () => {
    const box = await three();
    const third = await box.digest();
    const asked = await box.run('rollback', { version: '1' }, { answer: 'yes' });
    expect(asked.asked).toEqual([expect.stringMatching(/^Roll 'review' back to version 1 \(1\.0\.0, [0-9a-f]{12}\)\?$/)]);
    expect(asked.text).toContain('-Three.\n+One.');
    expect(await box.digest()).toBe(box.first);
    expect(existsSync(path.join(box.folder, 'more'))).toBe(false);
    expect(statSync(path.join(box.project, SCRIPT)).mode & 0o777).toBe(0o755);
    expect(statSync(path.join(box.project, FILE)).mode & 0o777).toBe(0o644); // and not as in the store, where nobody writes
    expect((await box.rows()).map(({ how }) => how)).toEqual(['rollback', 'by_hand', 'by_hand', 'found']);
    expect((await box.run('rollback', { version: third.slice(7, 15) }, { options: { yes: true } })).text).toContain(
      "Rolled 'review' back.",
    );
    expect(await box.digest()).toBe(third);
  });

  it('P7: takes a number, a version of the frontmatter or a beginning of the digest, and tells what else could be meant', async () => {
    const box = await three();
    const attempt = async (version: string) => (await box.run('rollback', { version }, { options: { yes: true } })).error;
    expect(await attempt('1.1.0')).toMatchObject({
      code: 'version_ambiguous',
      message: expect.stringMatching(/^'1\.1\.0' names several versions: 2 \(1\.1\.0, [0-9a-f]{12}\), 3 \(1\.1\.0, [0-9a-f]{12}\)$/),
    });
    expect(await attempt('9')).toMatchObject({ code: 'version_not_found', message: expect.stringContaining('there are 1 (1.0.0, ') });
    expect(await attempt(box.first.slice(7, 13))).toMatchObject({ code: 'version_not_found' }); // six digits
    expect(await attempt(box.first)).toBe(null);
    expect(await box.digest()).toBe(box.first);
  });

  it('P23: without a person it wants --yes, and asking changes nothing', async () => {
    const box = await three();
    const third = await box.digest();
    expect((await box.run('rollback', { version: '1' })).error).toMatchObject({ code: 'confirmation_needed' });
    expect((await box.run('rollback', { version: '1' }, { answer: 'no' })).code).toBe(1);
    expect(await box.digest()).toBe(third);
  });

  it('P23: refuses where the folder changed between what was shown and the answer, and keeps that edit', async () => {
    const box = await three();
    const answer = async () => {
      await box.write(FILE, text('1.1.0', 'Mine, meanwhile.\n'));
      return 'yes';
    };
    expect((await box.run('rollback', { version: '1' }, { answer })).error).toMatchObject({ code: 'skill_edited' });
    expect(readFileSync(path.join(box.project, FILE), 'utf8')).toContain('Mine, meanwhile.');
    expect((await box.rows())[0]).toMatchObject({ how: 'by_hand' });
  });

  it('P23: there is none where the present state cannot be recorded, or the wanted one is damaged', async () => {
    const box = await three();
    await box.rows();
    symlinkSync('/etc/hostname', path.join(box.folder, 'name'));
    const attempt = async () => (await box.run('rollback', { version: '1' }, { options: { yes: true } })).error;
    expect(await attempt()).toMatchObject({ code: 'version_not_kept', message: expect.stringContaining('it has links') });
    expect(readFileSync(path.join(box.project, FILE), 'utf8')).toContain('Three.');
    rmSync(path.join(box.folder, 'name'));
    const [id] = readdirSync(path.join(data(box), 'versions'));
    const kept = path.join(data(box), 'versions', id!, box.first.slice(7), 'review/SKILL.md');
    chmodSync(kept, 0o644);
    writeFileSync(kept, 'Evil.\n');
    expect(await attempt()).toMatchObject({ code: 'version_not_kept', cure: 'choose another: pith skills history review' });
    expect(readFileSync(path.join(box.project, FILE), 'utf8')).toContain('Three.');
  });

  it('P23: a folder that is a link is never written through', async () => {
    const box = await three();
    await box.rows();
    mkdirSync(path.join(box.project, 'elsewhere'));
    renameSync(box.folder, path.join(box.project, 'elsewhere/review'));
    symlinkSync(path.join(box.project, 'elsewhere/review'), box.folder);
    expect((await box.run('rollback', { version: '1' }, { options: { yes: true } })).error).not.toBe(null);
    expect(readFileSync(path.join(box.project, 'elsewhere/review/SKILL.md'), 'utf8')).toContain('Three.');
  });
});

describe('P7: while Pith runs', () => {
  const historyOf = async (pith: Awaited<ReturnType<typeof skillKernel>>, id: string) =>
    (await pith.command(`skills history ${id}`)) as unknown as Row[];

  it('P7: what a turn loads is in its history, and an edit of it afterwards', async () => {
    const kernel = await skillKernel({ ...skill('review'), ...agent('reader', 'uses_tools: [skill_registry]') });
    const folder = path.join(kernel.pith.sandbox, 'data/extensions/skill_registry/history');
    await kernel.chat('review it', [call('read_skill', { skill_id: 'review' })]);
    await until(() => existsSync(folder) && readdirSync(folder).length === 1, 30_000);
    await kernel.pith.write('skills/review/SKILL.md', skillText({ name: 'review', body: 'Edited.\n' }));
    expect((await historyOf(kernel, 'review')).map(({ how }) => how)).toEqual(['by_hand', 'found']);
  });

  it.each([
    [500, 4],
    [2, 2],
  ])('P7: the service records skills in the background, at most as many as the setting says: %i', async (most, recorded) => {
    const files = Object.assign({}, ...['a', 'b', 'c', 'd'].map((id) => skill(`skill-${id}`))) as Record<string, string>;
    const kernel = await skillKernel({ ...files, ...settings(`history_skills: ${most}`) });
    await kernel.pith.kernel.start();
    const folder = path.join(kernel.pith.sandbox, 'data/extensions/skill_registry/history');
    const count = () => (existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')).length : 0);
    await until(() => count() >= recorded, 30_000);
    await kernel.pith.write('skills/skill-a/SKILL.md', skillText({ name: 'skill-a', body: 'Edited.\n' }));
    expect((await historyOf(kernel, 'skill-a')).map(({ how }) => how)).toEqual(['by_hand', 'found']);
    expect(count()).toBe(recorded);
  });
});
