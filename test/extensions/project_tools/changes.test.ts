import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeClock, scriptedModel, testKernel } from 'pith/testing';
import { stateFolder } from '@pith/safe-files';
import { folderWith, lockOfDead } from '../../places.ts';
import { askedTools } from '../asked-tools.ts';
import { projectWith } from './project.ts';

const edit = (path: string, old_text: string, new_text: string, more = {}) => ({ path, edits: [{ old_text, new_text, ...more }] });

describe('U2 edit_file', () => {
  it('U2 shows the change in a person’s words and as a diff, and makes it when they agree to it', async () => {
    const project = await projectWith({ 'src/a.ts': 'one\ntwo\nthree\n' });
    const input = edit('src/a.ts', 'two', 'zwei');
    const question = await project.question('edit_file', input);
    expect(question).toMatchObject({
      summary: 'change src/a.ts (+1 −1)',
      always: { key: 'write:.', covers: 'ordinary files of this project' },
    });
    expect(question?.text).toBe('--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three');
    expect(await project.approved('edit_file', input)).toMatchObject({ error: { code: 'approval_needed' } });
    expect(project.read('src/a.ts')).toBe('one\ntwo\nthree\n');
    expect(await project.approved('edit_file', input, question?.subject)).toMatchObject({ ok: true, title: 'Changed src/a.ts (+1 −1)' });
    expect(project.read('src/a.ts')).toBe('one\nzwei\nthree\n');
  });

  it('U2 several edits are all or none, and each must match once', async () => {
    const project = await projectWith({ 'a.txt': 'x\ny\nx\n' });
    const both = { path: 'a.txt', edits: [...edit('a.txt', 'y', 'z').edits, ...edit('a.txt', 'x', 'w').edits] };
    expect(await project.call('edit_file', both)).toMatchObject({
      error: { code: 'edit_many_matches', message: expect.stringContaining("occurs 2 times in 'a.txt', on lines 1, 3") },
    });
    expect(project.read('a.txt')).toBe('x\ny\nx\n');
    expect(await project.call('edit_file', edit('a.txt', 'x', 'w', { all: true }))).toMatchObject({ ok: true });
    expect(project.read('a.txt')).toBe('w\ny\nw\n');
    expect(await project.call('edit_file', edit('a.txt', ' y', 'z'))).toMatchObject({
      error: { code: 'edit_no_match', message: expect.stringContaining('line 2 differs only in white space') },
    });
    expect(await project.call('edit_file', edit('none.txt', 'x', 'w'))).toMatchObject({ error: { code: 'file_unavailable' } });
  });

  it('E1 of changes of one file that come at once each is made or said not to be, and none is lost', async () => {
    const lines = ['one', 'two', 'three', 'four', 'five'];
    let beforeItIsMade = (): void => undefined;
    const clock = fakeClock();
    const project = await projectWith(
      { 'a.txt': `${lines.join('\n')}\n` },
      { clock: { ...clock, now: () => (beforeItIsMade(), clock.now()) } },
    );
    const results = await Promise.all(lines.map((line) => project.call('edit_file', edit('a.txt', line, line.toUpperCase()))));
    const made = results.map(({ ok }) => ok);
    expect(made).toContain(true);
    expect(project.read('a.txt')).toBe(`${lines.map((line, at) => (made[at] ? line.toUpperCase() : line)).join('\n')}\n`);
    const refused = results.filter(({ ok }) => !ok);
    expect(refused).toMatchObject(refused.map(() => ({ error: { code: 'approval_needed' } }))); // the yes was for other bytes
    const new1 = { path: 'new.txt', content: 'x\n' };
    expect(await Promise.all([project.call('write_file', new1), project.call('write_file', { ...new1, content: 'y\n' })])).toMatchObject([
      { ok: true },
      { error: { code: 'approval_needed' } },
    ]);
    expect(project.read('new.txt')).toBe('x\n');
    // An editor takes no turns; what is to be written lies beside the file already.
    beforeItIsMade = () => void (readdirSync(project.root).some((name) => name.endsWith('.tmp')) && project.write('new.txt', 'theirs\n'));
    expect(await project.call('write_file', { ...new1, content: 'z\n' })).toMatchObject({ error: { code: 'file_changed' } });
    expect(project.read('new.txt')).toBe('theirs\n');
  });

  it('E1 E2 two edits of one file and a read in one answer: both are asked about in their order, both are made, the read sees them', async () => {
    const calls = [
      { name: 'edit_file', input: edit('a.txt', 'one', '1') },
      { name: 'edit_file', input: edit('a.txt', 'five', '5') },
      { name: 'read_file', input: { path: 'a.txt' } },
    ];
    const model = scriptedModel([{ calls }, { text: 'done' }]);
    const project = await projectWith({ 'a.txt': 'one\ntwo\nfive\n' }, { model });
    const { approvals } = project.test.kernel;
    const asked: string[] = [];
    let turn = await project.test.run('go');
    while (turn.reason === 'awaiting_approval') {
      const [open, ...others] = await approvals.list();
      expect(others).toEqual([]);
      asked.push(open!.details ?? '');
      await approvals.answer(open!.id, { answer: 'once', by: 'ann' });
      turn = await project.test.run('', { resume: true });
    }
    expect(turn.text).toBe('done');
    expect(asked).toMatchObject([expect.stringContaining('-one\n+1'), expect.stringContaining(' 1\n two\n-five\n+5')]);
    expect(project.read('a.txt')).toBe('1\ntwo\n5\n');
    expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toMatch(/changed a\.txt.*changed a\.txt.*1.*two.*5/su);
  });

  it('U2 keeps mode, line endings and byte order mark', async () => {
    const project = await projectWith({ 'w.txt': '\uFEFFone\r\ntwo\r\n' });
    chmodSync(project.at('w.txt'), 0o750);
    await project.call('edit_file', edit('w.txt', 'one\ntwo', 'uno\ndue\ntre'));
    expect(project.read('w.txt')).toBe('\uFEFFuno\r\ndue\r\ntre\r\n');
    expect(statSync(project.at('w.txt')).mode & 0o777).toBe(0o750);
    await project.call('write_file', { path: 'w.txt', content: 'new\ntext\n' });
    expect(project.read('w.txt')).toBe('\uFEFFnew\r\ntext\r\n');
  });

  it.each(['', 'a\nb\n'])('U2 write_file writes CRLF into a file that has none: %j', async (former) => {
    const project = await projectWith({ 'run.bat': former });
    expect(await project.call('write_file', { path: 'run.bat', content: 'a\r\nb\r\n' })).toMatchObject({ ok: true });
    expect(project.read('run.bat')).toBe('a\r\nb\r\n');
  });

  it('U2 what was agreed to is bound to the bytes: a file that changed meanwhile is asked about again', async () => {
    const project = await projectWith({ 'a.txt': 'one\n' });
    const input = edit('a.txt', 'one', 'two');
    const question = await project.question('edit_file', input);
    project.write('a.txt', 'one more\n');
    expect(await project.approved('edit_file', input, question?.subject)).toMatchObject({
      error: { code: 'approval_needed', message: expect.stringContaining('has changed since a person agreed') },
    });
    expect(project.read('a.txt')).toBe('one more\n');
  });

  it('U12 what runs later or may contain secrets is asked about each time, with the reason', async () => {
    const project = await projectWith({ 'package.json': '{}\n', '.env': 'A=1\n' });
    for (const [path, why] of [
      ['package.json', 'package manifest'],
      ['.github/workflows/ci.yml', 'dot folder'],
      ['.vscode/tasks.json', 'dot folder'],
      ['AGENTS.md', 'read by agents'],
      ['.env', 'may contain secrets'],
      ['Makefile', 'build file'],
    ] as const) {
      const question = await project.question('write_file', { path, content: 'x' });
      expect(question, path).toMatchObject({ once: true, text: expect.stringContaining(why) });
      expect(question).not.toHaveProperty('always');
    }
    expect(await project.question('write_file', { path: 'extensions/x.ts', content: 'x' })).toMatchObject({
      always: { key: 'write:.' },
    });
  });

  it('W5 agents change what decides for others, and read keys, for administrators only', async () => {
    const project = await projectWith({ '.env': 'A_KEY=secret\n', 'AGENTS.md': 'Be nice\n', 'a.txt': 'one\n' });
    const ada = askedTools(project.test, 'project_tools', { ...project.turn, userId: 'ada' });
    for (const path of ['AGENTS.md', 'src/CLAUDE.md', '.env', '.env.local', '.envrc', '.mcp.json', '.vscode/tasks.json', 'Makefile']) {
      const refused = { ok: false, error: { code: 'not_allowed', message: expect.stringContaining('for administrators only') } };
      expect(await ada.question('write_file', { path, content: 'x\n' }), path).toBeNull();
      expect(await ada.call('write_file', { path, content: 'x\n' }), path).toMatchObject(refused);
    }
    expect(await ada.call('edit_file', edit('AGENTS.md', 'nice', 'bad'))).toMatchObject({ error: { code: 'not_allowed' } });
    expect(project.read('AGENTS.md')).toBe('Be nice\n');
    expect(await ada.question('read_file', { path: '.env' })).toBeNull();
    expect(await ada.call('read_file', { path: '.env' })).toMatchObject({ error: { code: 'not_allowed' } });
    for (const path of ['.', '.env'])
      expect(JSON.stringify(await ada.call('search_files', { pattern: 'A_KEY', path }))).not.toContain('secret\\n');
    expect(await ada.call('edit_file', edit('a.txt', 'one', 'two'))).toMatchObject({ ok: true });
    expect(await project.call('write_file', { path: 'AGENTS.md', content: 'x\n' })).toMatchObject({ ok: true });
    expect(await project.call('read_file', { path: '.env' })).toMatchObject({ ok: true });
  });

  it('U4 Pith’s own sandbox, folders of skills, state, links and other places are not changed', async () => {
    const project = await projectWith({ '.claude/skills/x/SKILL.md': 'x\n' });
    const outside = folderWith();
    symlinkSync(outside, project.at('link'));
    for (const [path, code] of [
      ['sandbox/extensions/x/main.ts', 'use_file'],
      ['sandbox/skills/x/SKILL.md', 'use_file'],
      ['.claude/skills/x/SKILL.md', 'use_proposal'],
      ['.git/hooks/post-commit', 'protected'],
      ['sandbox/pith.yaml', 'protected'],
      ['link/x', 'file_unavailable'],
      ['../x', 'file_unavailable'],
    ] as const)
      expect(await project.call('write_file', { path, content: 'x\n' }), path).toMatchObject({ ok: false, error: { code } });
    expect(existsSync(`${outside}/x`)).toBe(false);
  });
});

describe('U5 undo', () => {
  const undo = (project: Awaited<ReturnType<typeof projectWith>>, line: string, answer?: string) =>
    project.test.command(
      ['undo', ...(line === '' ? [] : [line]), '--thread', 'thread'],
      answer === undefined ? {} : { answer: () => answer },
    );

  it('U5 takes back the changes of the last turn, new files included, and says what it did', async () => {
    const project = await projectWith({ 'a.txt': 'one\n', 'b.txt': 'b\n' });
    const [first, second] = [project.ofMessage('m1'), project.ofMessage('m2', 'thread/child')];
    await first.call('write_file', { path: 'b.txt', content: 'B\n' });
    await second.call('edit_file', edit('a.txt', 'one', 'two'));
    await second.call('edit_file', edit('a.txt', 'two', 'three'));
    await second.call('write_file', { path: 'deep/new.txt', content: 'new\n' });
    const ran = await undo(project, '');
    expect(ran.text).toBe('Restored a.txt\nRemoved deep/new.txt, which was new');
    expect(project.read('a.txt')).toBe('one\n');
    expect(existsSync(project.at('deep/new.txt'))).toBe(false);
    expect(project.read('b.txt')).toBe('B\n');
    expect((await undo(project, '')).text).toBe('Restored b.txt');
    expect((await undo(project, '')).text).toContain('Nothing more to undo'); // T24
  });

  it('U5 takes back the last N turns, also after a restart', async () => {
    const project = await projectWith({ 'a.txt': '0\n' });
    for (const count of [1, 2, 3]) await project.ofMessage(`m${count}`).call('write_file', { path: 'a.txt', content: `${count}\n` });
    await project.test.restart();
    await undo(project, '2');
    expect(project.read('a.txt')).toBe('1\n');
    await expect(undo(project, 'x')).rejects.toThrow("'x' is not a number of turns");
  });

  it('U5 what a person changed since is overwritten only when they say so', async () => {
    const project = await projectWith({ 'a.txt': 'one\n' });
    await project.call('edit_file', edit('a.txt', 'one', 'two'));
    project.write('a.txt', 'mine\n');
    expect((await undo(project, '', 'no')).text).toContain('a.txt stays as it is: it has changed since');
    expect(project.read('a.txt')).toBe('mine\n');
    expect((await undo(project, '', 'yes')).text).toContain('Restored a.txt');
    expect(project.read('a.txt')).toBe('one\n');
  });

  it('E1 U5 what changes while a person is asked is not overwritten by undo', async () => {
    const project = await projectWith({ 'a.txt': 'one\n' });
    await project.call('edit_file', edit('a.txt', 'one', 'two'));
    project.write('a.txt', 'mine\n');
    const answer = () => (project.write('a.txt', 'mine, later\n'), 'yes');
    const { text } = await project.test.command(['undo', '--thread', 'thread'], { answer });
    expect(text).toMatch(/a\.txt stays as it is: .*changed by another/u);
    expect(project.read('a.txt')).toBe('mine, later\n');
    const lock = lockOfDead(project.at('sandbox/data/extensions/project_tools/locks'), project.at('a.txt'));
    expect((await undo(project, '', 'yes')).text).toContain('Restored a.txt');
    expect(existsSync(lock)).toBe(false); // it took its turn
  });

  it('U5 asks also where a person changed the file between two changes of the turn', async () => {
    const project = await projectWith({ 'a.txt': 'one\n' });
    await project.call('edit_file', edit('a.txt', 'one', 'two'));
    project.write('a.txt', 'mine\n');
    await project.call('edit_file', edit('a.txt', 'mine', 'three'));
    expect((await undo(project, '', 'no')).text).toContain('a.txt stays as it is: it has changed since');
    expect(project.read('a.txt')).toBe('three\n');
  });

  it('U5 one file that cannot be taken back costs no other, and nothing is written through a link', async () => {
    const project = await projectWith({ 'a.txt': 'one\n', 'b.txt': 'one\n' });
    const outside = folderWith({ 'x.txt': 'kept' });
    for (const name of ['a.txt', 'b.txt']) await project.call('edit_file', edit(name, 'one', 'two'));
    rmSync(project.at('a.txt'));
    symlinkSync(`${outside}/x.txt`, project.at('a.txt'));
    const { text } = await undo(project, '', 'yes');
    expect(text).toMatch(/a\.txt stays as it is: [^]*Restored b\.txt/u);
    expect(readFileSync(`${outside}/x.txt`, 'utf8')).toBe('kept');
    expect(project.read('b.txt')).toBe('one\n');
  });

  it('U5 says that what commands changed is not undone', async () => {
    const project = await projectWith({ 'a.txt': 'one\n' });
    await project.call('shell', { command: 'echo x > a.txt' });
    expect((await undo(project, '')).text).toContain('Not undone: what these commands may have changed: `echo x > a.txt`');
  });

  it('U5 keeps what files held for 30 days', async () => {
    const clock = fakeClock();
    const project = await projectWith({ 'a.txt': 'one\n' }, { clock });
    await project.ofMessage('m1').call('edit_file', edit('a.txt', 'one', 'two'));
    await clock.advance(31 * 24 * 60 * 60 * 1000);
    await project.ofMessage('m2').call('edit_file', edit('a.txt', 'two', 'three'));
    await undo(project, '5');
    expect(project.read('a.txt')).toBe('two\n');
  });

  it('U5 a state folder that cannot be written refuses the change instead of losing what the file held', async () => {
    const project = await projectWith({ 'a.txt': 'one\n' });
    await project.call('edit_file', edit('a.txt', 'one', 'two'));
    const folder = project.at('sandbox/data/extensions/project_tools/undo');
    mkdirSync(folder, { recursive: true });
    rmSync(folder, { recursive: true });
    writeFileSync(folder, 'a file in its place');
    expect(await project.call('edit_file', edit('a.txt', 'two', 'three'))).toMatchObject({ ok: false });
    expect(project.read('a.txt')).toBe('two\n');
  });
});

it('S13 what a killed Pith left of a change is gone once tools are offered again', async () => {
  const project = await projectWith({ 'a.txt': 'one\n', '.0123456789abcdef.tmp': 'two\n' });
  const notes = stateFolder(project.at('sandbox/data/extensions/project_tools'), 'staged');
  notes.append(`${spawnSync('true').pid}.0123456789abcdef`, project.at('.0123456789abcdef.tmp'));
  await project.test.stop();
  const again = await testKernel({ sandbox: project.at('sandbox') });
  onTestFinished(() => again.stop());
  await again.kernel.host.providers.tools.of('project_tools');
  expect(existsSync(project.at('.0123456789abcdef.tmp'))).toBe(false);
  expect(project.read('a.txt')).toBe('one\n');
});
