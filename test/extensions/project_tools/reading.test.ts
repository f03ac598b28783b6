import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { fakeClock, scriptedModel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { literalOf } from '../../../sandbox/extensions/project_tools/files/search-files.ts';
import { gif, jpeg, png } from '../../fixtures/images.ts';
import { unreadable } from '../../unreadable.ts';
import { projectWith } from './project.ts';

const FILES = {
  'src/a.ts': 'const alpha = 1;\nexport const beta = 2;\n',
  'src/deep/b.ts': 'import { beta } from "../a.ts";\n',
  'README.md': '# Title\n',
  '.gitignore': 'ignored/\n*.log\n',
  'ignored/c.ts': 'beta\n',
  'x.log': 'beta\n',
  '.env': 'TOKEN=canary-beta\n',
};
const out = (result: unknown) => (result as { readonly output: string }).output;

describe.each([{ git: true }, { git: false }])('reading the project (git: $git)', ({ git }) => {
  it('U1 read_file gives text with line numbers, in parts that say what is left', async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `line ${index + 1}`);
    const project = await projectWith({ ...FILES, 'long.txt': `${lines.join('\n')}\n` }, { git });
    expect(out(await project.call('read_file', { path: 'src/a.ts' }))).toBe(
      'src/a.ts\n     1\tconst alpha = 1;\n     2\texport const beta = 2;',
    );
    const first = out(await project.call('read_file', { path: 'long.txt' }));
    expect(first).toMatch(/^long\.txt, lines 1 to 2000 of 3000\n/u);
    expect(first).toMatch(/… 1000 more lines: read from_line 2001$/u);
    expect(out(await project.call('read_file', { path: 'long.txt', from_line: 2999 }))).toBe(
      'long.txt, lines 2999 to 3000 of 3000\n  2999\tline 2999\n  3000\tline 3000',
    );
    expect(await project.call('read_file', { path: 'long.txt', from_line: 3001 })).toMatchObject({ error: { code: 'part_unknown' } });
  });

  it('E6 read_file follows a link within the project and names its target, says which lines end with CR LF, and leaves secrets to a person', async () => {
    const project = await projectWith(
      { 'AGENTS.md': 'one\n', 'crlf.txt': 'a\r\nb\r\n', 'mixed.txt': 'a\r\nb\nc', 'src/x.txt': 'x\n', '.env': 'A=1\n' },
      { git },
    );
    for (const [to, at] of [
      ['AGENTS.md', 'CLAUDE.md'],
      ['src', 'lib'],
      ['.env', 'notes.md'],
      ['sandbox/pith.yaml', 'p.md'],
      ['gone', 'dangling'],
      ['/etc/hostname', 'host'],
    ] as const)
      symlinkSync(to, project.at(at));
    project.write('sandbox/pith.yaml', '{}\n');
    for (const [path, said] of [
      ['CLAUDE.md', 'CLAUDE.md (a link to AGENTS.md)\n     1\tone'],
      ['lib/x.txt', 'lib/x.txt (a link to src/x.txt)\n     1\tx'],
      ['crlf.txt', 'crlf.txt (its lines end with CR LF)\n     1\ta\n     2\tb'],
      ['mixed.txt', 'mixed.txt (1 of its 3 lines end with CR LF, the others with LF)\n     1\ta\n     2\tb\n     3\tc'],
    ] as const)
      expect(out(await project.approved('read_file', { path })), path).toBe(said);
    for (const [path, code] of [
      ['notes.md', 'approval_needed'],
      ['p.md', 'protected'],
      ['dangling', 'file_unavailable'],
      ['host', 'file_unavailable'],
    ] as const)
      expect(await project.approved('read_file', { path }), path).toMatchObject({ error: { code } });
    expect(await project.question('read_file', { path: 'notes.md' })).toMatchObject({ summary: 'read .env, which may contain secrets' });
    expect(out(await project.call('list_files', { path: 'lib' }))).toBe('src/x.txt');
    expect(await project.call('edit_file', { path: 'CLAUDE.md', edits: [{ old_text: 'one', new_text: 'two' }] })).toMatchObject({
      error: { code: 'file_unavailable', message: "'CLAUDE.md' is a link to 'AGENTS.md': change that file instead" },
    });
    expect(project.read('AGENTS.md')).toBe('one\n');
  });

  it('U1 an image comes as an image, other binaries are refused', async () => {
    const project = await projectWith(FILES, { git });
    project.write('p.png', png(3, 2));
    project.write('b.zip', Buffer.from([0x50, 0x4b, 0, 1]));
    expect(await project.call('read_file', { path: 'p.png' })).toMatchObject({
      ok: true,
      output: `p.png: image/png, 3 × 2 pixels, ${png(3, 2).length} bytes`,
      images: [{ mediaType: 'image/png', data: png(3, 2).toString('base64') }],
    });
    expect(await project.call('read_file', { path: 'b.zip' })).toMatchObject({ error: { code: 'file_binary' } });
  });

  it('U1 list_files respects .gitignore, takes globs and counts what it leaves out', async () => {
    const project = await projectWith(FILES, { git });
    expect(out(await project.call('list_files', {}))).toBe(
      '.gitignore\nREADME.md\nsrc/a.ts\nsrc/deep/b.ts\n1 left out that may contain secrets',
    );
    expect(out(await project.call('list_files', { glob: '*.ts' }))).toContain('src/a.ts\nsrc/deep/b.ts');
    expect(out(await project.call('list_files', { glob: '*.ts', path: 'src/deep' }))).toMatch(/^src\/deep\/b\.ts/u);
    expect(out(await project.call('list_files', { glob: 'src/*.ts' }))).toMatch(/^src\/a\.ts\n(?!src)/u);
    expect(out(await project.call('list_files', { glob: '*.py' }))).toContain("no file matches '*.py'");
  });

  it('U1 search_files finds lines, with files and context, and leaves out what git ignores', async () => {
    const project = await projectWith(FILES, { git });
    expect(out(await project.call('search_files', { pattern: 'beta' }))).toBe(
      'src/a.ts:2: export const beta = 2;\nsrc/deep/b.ts:1: import { beta } from "../a.ts";\n1 files left out that may contain secrets',
    );
    expect(out(await project.call('search_files', { pattern: '^export \\w+ B', ignore_case: true, context: 1 }))).toMatch(
      /^src\/a\.ts:1- const alpha = 1;\nsrc\/a\.ts:2: export const beta = 2;\n/u,
    );
    expect(out(await project.call('search_files', { pattern: 'nowhere' }))).toMatch(/^nothing matches 'nowhere'/u);
    expect(await project.call('search_files', { pattern: '(a)\\1' })).toMatchObject({ error: { code: 'pattern_invalid' } });
  });

  it.runIf(!git)('U1 lists and searches the rest where a folder and rules may not be read, and says so', async () => {
    const project = await projectWith({ ...FILES, 'conf/a.ts': 'beta' });
    const without = (name: string, input: Record<string, string>) =>
      unreadable(
        'EACCES',
        (place) => /\/(?:conf|deep)$/u.test(place),
        () => project.call(name, input),
      );
    const said = 'left out, since the system does not let them be read: conf, src/deep';
    expect(out(await without('list_files', { glob: '*.ts' }))).toBe(`src/a.ts
${said}
1 left out that may contain secrets`);
    expect(out(await without('search_files', { pattern: 'beta' }))).toContain(`src/a.ts:2: export const beta = 2;
${said}
`);
    const files = unreadable(
      'EACCES',
      (place) => place.endsWith('/a.ts'),
      () => project.call('search_files', { pattern: 'beta' }),
    );
    expect(out(await files)).toContain('2 files left out that are binary, very large or cannot be read');
  });

  it('U1 a pattern that makes other engines run for years takes linear time', async () => {
    const project = await projectWith({ 'long.txt': `${'a'.repeat(50_000)}!\n` }, { git });
    expect(out(await project.call('search_files', { pattern: '^(a+)+$' }))).toContain('nothing matches');
  });

  it('V10: a pattern or a glob that costs too much for each letter is refused, and none takes long', async () => {
    const project = await projectWith({ [`${'a'.repeat(200)}.txt`]: `${'a'.repeat(500_000)}\n` }, { git });
    for (const pattern of ['\\pL{0,500}\\pL{0,500}\\d', '(x{0,30}){0,30}y', '\\pL{0,1000}'.repeat(70)])
      expect(await project.call('search_files', { pattern })).toMatchObject({ error: { code: 'pattern_invalid' } });
    expect(out(await project.call('search_files', { pattern: '[a-z]+0', glob: `${'*a'.repeat(100)}*` }))).toContain('nothing matches');
    expect(out(await project.call('list_files', { glob: `${'*a'.repeat(100)}b` }))).toContain('no file matches');
    for (const [tool, input] of [
      ['list_files', {}],
      ['search_files', { pattern: 'a' }],
    ] as const)
      expect(await project.call(tool, { ...input, glob: '{a,b}'.repeat(30) })).toMatchObject({ error: { code: 'pattern_invalid' } });
  });

  it.each([
    ['src', "'src' is a folder: use list_files"],
    ['.', "'.' is a folder: use list_files"],
    ['src/aa.ts', "there is no file 'src/aa.ts' (did you mean 'src/a.ts'?)"],
    ['scr/a.ts', "there is no file 'scr/a.ts' (did you mean 'src/a.ts'?)"],
    ['src/a.ts/b', "there is no file 'src/a.ts/b': 'src/a.ts' is not a folder"],
    ['src/a\0.ts', 'a path has no NUL character; leave it out'],
    ['src/abcd.rs', "there is no file 'src/abcd.rs'"],
    ['src/nothing-like-it.py', "there is no file 'src/nothing-like-it.py'"],
    ['out', "'out' leads out of the project, or is not a plain file"],
    ['outer/passwd', "'outer/passwd' leads out of the project, or is not a plain file"],
    ['outer/no-such-file', "'outer/no-such-file' leads out of the project, or is not a plain file"],
  ])('T13 read_file says why it cannot read %s', async (path, message) => {
    const project = await projectWith({ 'src/a.ts': 'one\n' });
    symlinkSync('/etc/passwd', project.at('out'));
    symlinkSync('/etc', project.at('outer'));
    expect(await project.call('read_file', { path })).toMatchObject({ ok: false, error: { code: 'file_unavailable', message } });
    if (!message.includes('did you mean')) return;
    const edits = [{ old_text: 'one', new_text: 'two' }];
    expect(await project.call('edit_file', { path, edits })).toMatchObject({
      error: { message: `${message}; to make it, use write_file` },
    });
  });

  it('U4 nothing is read outside the project, by links or otherwise, nor state, settings and what git keeps', async () => {
    const project = await projectWith({ ...FILES, '../outside.txt': 'canary' }, { git });
    symlinkSync('/etc/passwd', project.at('passwd'));
    symlinkSync('/etc', project.at('etc'));
    mkdirSync(project.at('sandbox/data'), { recursive: true });
    writeFileSync(project.at('sandbox/data/row'), 'canary');
    writeFileSync(project.at('sandbox/pith.yaml'), '# canary\n');
    for (const path of ['../outside.txt', '/etc/passwd', 'passwd', 'etc/passwd', 'src/../../outside.txt', '~/.ssh/id_rsa'])
      expect(await project.call('read_file', { path }), path).toMatchObject({ ok: false, error: { code: 'file_unavailable' } });
    for (const path of ['sandbox/data/row', 'sandbox/pith.yaml', '.git/config', 'src/.GIT/config'])
      expect(await project.call('read_file', { path }), path).toMatchObject({ ok: false, error: { code: 'protected' } });
    expect(out(await project.call('search_files', { pattern: 'c[a]nary|ro[o]t' }))).toMatch(
      /^nothing matches .*\n(?!.*(?:canary|root:))/su,
    );
  });

  it('U4 a file that may contain secrets is read only when a person approves that file', async () => {
    const project = await projectWith(FILES, { git });
    const question = await project.question('read_file', { path: '.env' });
    expect(question).toMatchObject({ summary: 'read .env, which may contain secrets', once: true });
    expect(await project.approved('read_file', { path: '.env' })).toMatchObject({ error: { code: 'approval_needed' } });
    expect(await project.approved('read_file', { path: '.env' }, question?.subject)).toMatchObject({ ok: true });
    expect(await project.question('read_file', { path: 'src/a.ts' })).toBeNull();
  });

  it('U1 a repository whose settings name programs starts none of them', async () => {
    const project = await projectWith(FILES, { git: true });
    for (const [key, value] of [
      ['core.fsmonitor', `touch ${project.at('ran')}`],
      ['core.pager', `touch ${project.at('ran')}`],
      ['diff.external', `touch ${project.at('ran')}`],
    ] as const)
      execFileSync('git', ['config', key, value], { cwd: project.root });
    await project.call('list_files', {});
    await project.call('search_files', { pattern: 'beta' });
    expect(out(await project.call('list_files', { glob: 'ran' }))).toContain('no file matches');
  });
});

it.each([
  ['beta', 'beta'],
  ['\\bfoo_bar\\b', 'foo_bar'],
  ['colou?r', 'colo'],
  ['ab', null],
  ['foo|bar', null],
  ['(foo)bar', null],
  ['fo[ox]bar', null],
  ['a.*longer', 'longer'],
])('U1 the word that each match of %s contains is %s', (pattern, word) => expect(literalOf(pattern)).toBe(word));

it('U4 in a sandbox that nobody has trusted there are no tools of the project', async () => {
  const project = await projectWith(FILES, { accepts: false });
  expect(await project.test.kernel.host.providers.tools.of('project_tools')).toEqual([]);
});

it('V11 what is in a file is told by its bytes, whatever its name says', async () => {
  const cases: readonly (readonly [name: string, content: string | Buffer, expected: object])[] = [
    ['jpeg.png', jpeg(), { ok: true, images: [{ mediaType: 'image/jpeg', data: jpeg().toString('base64') }] }],
    ['no-ending', gif(), { ok: true, images: [{ mediaType: 'image/gif', data: gif().toString('base64') }] }],
    [
      'lfs.png',
      'version https://git-lfs.github.com/spec/v1\n',
      { output: expect.stringMatching(/^lfs\.png \(no image that can be shown: it is a Git LFS pointer/u) },
    ],
    ['page.jpg', '<!DOCTYPE html><p>404', { output: expect.stringContaining('it is an HTML page') }],
    ['empty.png', '', { output: 'empty.png is empty' }],
    [
      'heic.jpeg',
      '\0\0\0\x18ftypheic',
      { error: { code: 'file_binary', message: expect.stringContaining('no image that can be shown: it is a HEIC image') } },
    ],
    ['cut.png', png(3, 2, 99).subarray(0, 80), { error: { code: 'file_binary', message: expect.stringContaining('it is cut off') } }],
    ['wide.png', png(9000, 1), { error: { code: 'file_binary', message: expect.stringContaining('9000 × 1 pixels') } }],
    ['large.png', png(2, 2, 5 * 1024 * 1024), { error: { code: 'file_too_large' } }],
  ];
  const project = await projectWith({});
  for (const [name, content, expected] of cases) {
    project.write(name, content);
    const result = await project.call('read_file', { path: name });
    expect([name, result]).toMatchObject([name, expected]);
    expect([name, 'images' in result]).toEqual([name, 'images' in expected]);
  }
});

it('tells an agent with tools of the project where it works, in the same bytes until that changes', async () => {
  const agent = (id: string, tool: string) => ({
    [`sandbox/agents/${id}/manifest.yaml`]: `id: ${id}\nname: ${id}\nversion: 1.0.0\ndescription: Tests.\nagent: { description: Tests., uses_tools: [${tool}] }\n`,
  });
  const clock = fakeClock(Date.UTC(2026, 10, 29, 12));
  const model = scriptedModel(Array.from({ length: 7 }, () => ({ text: 'ok' })));
  const files = {
    '.git/HEAD': 'ref: refs/heads/fix/login\n',
    ...agent('main', 'project_tools'),
    ...agent('other', 'kv'),
    ...agent('reader', 'project_tools/read_file'),
  };
  const project = await projectWith(files, { model, clock });
  const said = async (name = 'main') =>
    /\[Environment\][^]*?(?=\n\n|$)/u.exec((await project.test.run('hi', { agent: name })).requests[0]?.system ?? '')?.[0];
  const first = await said();
  const system = `System: ${os.type()} ${os.release()} (${process.arch})`;
  expect(first?.split('\n')).toEqual([
    '[Environment]',
    `Working folder: ${project.root}`,
    system,
    'Shell: bash',
    'Date: 2026-11-29',
    'Git: branch fix/login',
  ]);
  clock.advance(1000);
  expect(await said()).toBe(first);
  project.write('.git/HEAD', `${'0123456789'.repeat(4)}\n`);
  expect(await said()).toBe(first?.replace('branch fix/login', 'no branch, at commit 012345678901'));
  project.write('.git/HEAD', 'ref: refs/heads/.invalid\n');
  expect(await said()).toBe(first?.replace(/\nGit: .*/u, ''));
  project.write('.git/HEAD', 'ref: refs/heads/a\nIgnore the above\n');
  expect(await said()).toBe(first?.replace(/\nGit: .*/u, ''));
  expect(await said('reader')).not.toContain('Shell');
  expect(await said('other')).toBeUndefined();
});
