import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { stateFolder } from '@pith/safe-files';
import { isNowhere, probeSandboxing, processEntry } from '@pith/supervised-process';
import { folderWith, writeFiles } from '../../places.ts';
import { words } from '../../words.ts';
import { until } from '../../waiting.ts';
import type { Tool } from 'pith';
import { type CommandRuns } from '../../../sandbox/extensions/project_tools/shell/command-runs.ts';
import { shellTools } from '../../../sandbox/extensions/project_tools/shell/shell-tools.ts';
import { TURN } from '../../fixtures/agent-spec.ts';
import { askedTools } from '../asked-tools.ts';
import { projectWith } from './project.ts';

const { available } = await probeSandboxing();
/** What is enforced on this machine, and the kind of the key. */
const SANDBOXED = available ? 'sandboxed: no network, writes the project only' : expect.stringMatching(/^not sandboxed: /u);
const NETWORK = available ? expect.stringContaining('network access to everything that this machine can reach') : expect.any(String);
const KIND = available ? 'command' : 'unsandboxed';
const out = (result: unknown) => (result as { readonly output: string }).output;

it('U11 shows characters that only look like a space', async () => {
  const project = await projectWith({});
  expect(await project.question('shell', { command: 'rm\u00a0-rf \u2800x\u3000y' })).toMatchObject({
    summary: 'run `rm\\u{a0}-rf \\u{2800}x\\u{3000}y`',
    once: true,
  });
});

it('U12 no two calls that differ in what a person was shown share what always covers', async () => {
  const project = await projectWith({ 'src/a.ts': '' });
  const plain = ['python3 x.py', 'python3 x.py +network', 'git push', '"git push"', 'python3 "a b"', 'python3 a b', 'npm test'];
  const more = [
    { command: 'python3 x.py', access: ['network'] },
    { command: 'npm test', cwd: 'src' },
    { command: 'npm test', background: true },
  ];
  const questions = [...plain.map((command) => ({ command })), ...more].map((input) => project.question('shell', input));
  const keys = (await Promise.all(questions)).map((question) => question?.always?.key);
  expect(keys).not.toContain(undefined);
  expect(new Set(keys).size).toBe(keys.length);
});

describe('U3 shell', () => {
  it('U3 says what it runs, what holds here and what always covers, and runs nothing unasked', async () => {
    const project = await projectWith({ 'src/a.ts': '' });
    const question = await project.question('shell', { command: 'npm test', cwd: 'src' });
    expect(question).toMatchObject({
      summary: 'run `npm test`',
      text: expect.stringMatching(/^In the folder src\.\nIt runs the code of this project, .*Pith names these when it ends\.$/u),
      enforced: SANDBOXED,
      always: { key: `${KIND}:npm test in "src"`, covers: 'exactly `npm test` in "src"' },
    });
    expect(await project.question('shell', { command: 'npm ci', access: ['network'] })).toMatchObject({
      enforced: NETWORK,
      always: { key: expect.stringMatching(/:npm ci \+network$/u), covers: 'exactly `npm ci` with network' },
    });
    expect(await project.question('shell', { command: 'npm test; id' })).toMatchObject({ once: true });
    expect(await project.approved('shell', { command: 'touch ran' })).toMatchObject({ error: { code: 'approval_needed' } });
    expect(existsSync(project.at('ran'))).toBe(false);
    expect(await project.call('shell', { command: 'true', cwd: '..' })).toMatchObject({ error: { code: 'file_unavailable' } });
  });

  it.runIf(available)('T14 without network, npm does not wait, and what cannot resolve names is told how to ask', async () => {
    const project = await projectWith({});
    const run = async (command: string, more = {}) => out(await project.call('shell', { command, ...more }));
    const note = '[the sandbox has no network; call again with access: ["network"] if the command needs it]';
    const lookup = `node -e 'require("dns").lookup("packages.example", (error) => console.log(error.code, process.env.npm_config_fetch_retries))'`;
    expect(await run(lookup)).toMatch(/(?:EAI_AGAIN|ENOTFOUND) 0\n\n\[the sandbox has no network; call again with access: \[/u);
    expect(await run("sh -c 'echo curl: Could not resolve host: a.example'")).toContain(note);
    expect(await run('echo hello')).not.toContain(note);
    expect(await run('echo EAI_AGAIN $npm_config_fetch_retries', { access: ['network'] })).toBe('EAI_AGAIN\n[exit code 0]');
  });

  it('U3 answers output and exit code, shows output while it runs, and cuts long output in the middle', async () => {
    const project = await projectWith({ 'src/a.txt': 'hello\n' });
    const shown: string[] = [];
    project.test.kernel.events.handle('tool.progressed', ({ text }) => void shown.push(text));
    expect(await project.call('shell', { command: 'cat a.txt; echo problem >&2; exit 3', cwd: 'src' })).toMatchObject({
      output: expect.stringMatching(/^(?:hello\nproblem|problem\nhello)\n\[exit code 3\]$/u),
      title: 'Ran cat a.txt; echo problem >&2; exit 3 (exit code 3)',
    });
    expect(shown.join('')).toContain('hello\n');
    const long = out(await project.call('shell', { command: 'for i in $(seq 20000); do echo line $i; done' }));
    expect(long.length).toBeLessThan(31_000);
    expect(long).toMatch(/^line 1\n[^]*characters left out[^]*line 20000\n\[exit code 0\]$/u);
  });

  it('U3 ends the command and all that it started at its time, and when the turn is stopped', async () => {
    const project = await projectWith({});
    const nap = `7${process.pid}1`;
    const { execSync } = await import('node:child_process');
    const naps = () => execSync(`pgrep -f "sleep ${nap}" || true`).toString().trim().split('\n').filter(Boolean).length - 1; // the shell that looks
    expect(out(await project.call('shell', { command: `sleep ${nap} & sleep ${nap}`, timeout: 1 }))).toContain(
      '[ended: it took longer than 1 s]',
    );
    await until(() => naps() <= 0);
    const stop = new AbortController();
    const running = project.call('shell', { command: `sleep ${nap} & sleep ${nap}` }, stop.signal);
    await until(() => naps() >= 2);
    stop.abort();
    expect(await running).toMatchObject({ ok: false, error: { code: 'aborted' } });
    await until(() => naps() <= 0);
  });

  it('U3 has no secrets in its environment', async () => {
    process.env['OPENAI_API_KEY'] = 'canary';
    const project = await projectWith({});
    expect(out(await project.call('shell', { command: 'env' }))).not.toContain('canary');
    delete process.env['OPENAI_API_KEY'];
  });

  it('U3 a background command can be looked at and ended, and ends with Pith', async () => {
    const project = await projectWith({});
    expect(out(await project.call('shell', { command: 'echo up; sleep 600', background: true }))).toContain('started as bg-1');
    await until(async () => out(await project.call('shell_output', { id: 'bg-1' })).includes('up'));
    expect(out(await project.call('shell_output', { id: 'bg-1' }))).toMatch(/\[running\]$/u);
    expect(out(await project.call('shell_stop', { id: 'bg-1' }))).toMatch(/\[ended: it was stopped\]$/u);
    expect(await project.call('shell_output', { id: 'bg-9' })).toMatchObject({
      error: { message: expect.stringContaining('there are bg-1') },
    });
    await project.call('shell', { command: 'sleep 601; touch late', background: true });
    expect((await project.test.command('tasks list')).text).toMatch(
      /bg-1 +ended \(it was stopped\)[^]*bg-2 +running +command .*sleep 601; touch late/u,
    );
    expect((await project.test.command('tasks show bg-1')).text).toContain('up');
    expect((await project.test.command('tasks cancel bg-2')).text).toBe('bg-2 is ended.');
  });
});

it("W5 a background command is its user's: for others its id is as unknown as any", async () => {
  const project = await projectWith({});
  const ada = askedTools(project.test, 'project_tools', { ...project.turn, userId: 'ada' });
  expect(out(await project.call('shell', { command: 'sleep 602', background: true }))).toContain('started as bg-1');
  for (const tool of ['shell_output', 'shell_stop']) {
    expect(await ada.call(tool, { id: 'bg-1' })).toMatchObject({ error: { message: "there is no background command 'bg-1'" } });
    expect(await ada.call(tool, { id: 'bg-7' })).toMatchObject({ error: { message: "there is no background command 'bg-7'" } });
  }
  expect(out(await project.call('shell_output', { id: 'bg-1' }))).toMatch(/\[running\]$/u);
  expect(out(await project.call('shell_stop', { id: 'bg-1' }))).toMatch(/\[ended: it was stopped\]$/u);
});

it('W5 what nothing would confine runs for administrators alone', async () => {
  const asked: string[] = [];
  const project = { root: '/p', names: () => [], mayChangePith: async (userId: string) => userId === 'local' };
  const runs = {
    project,
    settings: { ask_for_reading: true, timeout_seconds: 1 },
    unconfined: async () => ({ why: 'there is no bubblewrap' }),
    run: async () => void asked.push('ran'),
  } as unknown as CommandRuns;
  const [shell] = shellTools(runs, {} as never) as readonly [Tool];
  const input = { command: 'id', access: [], background: false, cwd: '.' };
  const turn = { ...TURN, userId: 'ada' };
  const ask = shell.needsApproval as (wanted: object, turn: object) => Promise<object | false>;
  expect(await ask(input, turn)).toBe(false);
  expect(await ask(input, { ...turn, userId: 'local' })).toMatchObject({ enforced: expect.stringMatching(/^not sandboxed/u) });
  const about = { turn, signal: new AbortController().signal, idempotencyKey: 'k' };
  expect(await shell.execute(input, about)).toMatchObject({ ok: false, error: { code: 'not_allowed' } });
  expect(asked).toEqual([]);
});

describe.skipIf(!available)('U3 in a sandbox', () => {
  it('W5 commands for who is no administrator leave what agents are told, keys and what tools run as they are', async () => {
    const project = await projectWith({
      'AGENTS.md': 'Be nice\n',
      'src/CLAUDE.md': 'here\n',
      'package.json': '{}\n',
      '.env': 'A_KEY=secret\n',
    });
    const ada = askedTools(project.test, 'project_tools', { ...project.turn, userId: 'ada' });
    const guarded = ['AGENTS.md', 'CLAUDE.md', 'src/CLAUDE.md', 'package.json', '.env', '.envrc', '.mcp.json', '.vscode/tasks.json'];
    const command = `cat .env; mkdir -p .vscode; for f in ${guarded.join(' ')}; do echo bad > $f; rm -f $f; mv other $f; done; echo done > free.txt`;
    const said = out(await ada.call('shell', { command }));
    expect(said).not.toMatch(/A_KEY|start by themselves/u);
    expect(project.read('free.txt')).toBe('done\n');
    expect(project.read('AGENTS.md')).toBe('Be nice\n');
    expect(project.read('src/CLAUDE.md')).toBe('here\n');
    expect(project.read('package.json')).toBe('{}\n');
    expect(project.read('.env')).toBe('A_KEY=secret\n');
    const others = ['CLAUDE.md', '.envrc', '.mcp.json', '.vscode'];
    expect(others.filter((name) => existsSync(project.at(name)))).toEqual([]);
    await project.call('shell', { command: 'echo mine > AGENTS.md; echo new > CLAUDE.md' });
    expect([project.read('AGENTS.md'), project.read('CLAUDE.md')]).toEqual(['mine\n', 'new\n']);
  });

  it('W5 git adds nothing of what is only held for them, also where a process that held it was killed', async () => {
    const project = await projectWith({ 'a.txt': 'one\n' }, { git: true });
    const ada = askedTools(project.test, 'project_tools', { ...project.turn, userId: 'ada' });
    const commit = 'echo two > b.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm x; git show --format= --name-only';
    expect(out(await ada.call('shell', { command: commit }))).toBe('a.txt\nb.txt\n[exit code 0]');
    const held = ['.env', '.envrc', '.mcp.json', '.vscode', 'AGENTS.md', 'CLAUDE.md'];
    const there = () => held.filter((name) => existsSync(project.at(name)));
    expect(there()).toEqual([]);

    const folder = stateFolder(project.test.kernel.settings.data_dir, 'extensions', 'project_tools', 'held');
    const { startTime = '' } = processEntry(process.ppid) ?? {};
    const keep = (name: string) => folder.writeNow(`${name}.json`, JSON.stringify({ root: project.at(), placeholders: held }));
    const files = () => writeFiles(project.at(), { 'AGENTS.md': '', '.env': '', 'CLAUDE.md': 'a person wrote it\n' });
    files();
    keep('999999999.1');
    expect(out(await ada.call('shell', { command: 'cat AGENTS.md CLAUDE.md > c.txt; cat c.txt' }))).toBe(
      'a person wrote it\n[exit code 0]',
    );
    expect([there(), folder.list().filter((name) => name.endsWith('.json'))]).toEqual([['CLAUDE.md'], []]);
    files();
    keep(`${process.ppid}.${startTime}`);
    await ada.call('shell', { command: 'echo > c.txt' });
    expect(there()).toEqual(held); // another process still needs them
  });

  it('P13 sees nothing of the cases by which skills are measured', async () => {
    const project = await projectWith({
      '.claude/skills/x/SKILL.md': 'text\n',
      '.claude/skills/x/evals/evals.yaml': 'canary\n',
      '.claude/skills/x/evals/files/deep/a.txt': 'canary\n',
      '.claude/skills/x/eval_queries.json': 'canary\n',
      'evals/notes.txt': 'of the project\n',
    });
    const seen = out(await project.call('shell', { command: 'grep -rs "" . || true' }));
    expect(seen).toContain('of the project');
    expect(seen).not.toContain('canary');
  });

  it('U3 P20: writes the project; not the sandbox of Pith, folders of skills of any source, git hooks; sees no secrets, no state, no home', async () => {
    const home = folderWith({ 'diary.txt': 'canary' });
    const project = await projectWith(
      {
        'a.txt': 'a\n',
        '.env': 'canary\n',
        'deep/id_rsa': 'canary\n',
        '.claude/skills/x/SKILL.md': 'kept\n',
        'team/x/SKILL.md': 'kept\n',
        'sandbox/pith.yaml': 'skills: { sources: [team] }\n',
        'sandbox/skills/x/SKILL.md': 'kept\n',
        'sandbox/agents/x/AGENT.md': 'kept\n',
      },
      { git: true, home },
    );
    mkdirSync(project.at('sandbox/data'), { recursive: true });
    writeFileSync(project.at('sandbox/data/row'), 'canary');
    const command = [
      `cat .env deep/id_rsa sandbox/data/row ${home}/diary.txt`,
      'echo b > b.txt; cat b.txt',
      'echo x > sandbox/extensions.txt; mkdir -p sandbox/extensions/evil',
      'echo x > sandbox/agents/x/AGENT.md',
      'for skill in .claude/skills/x team/x sandbox/skills/x; do echo x > $skill/SKILL.md; rm -rf $skill; mv $skill gone; done',
      'echo x > .git/hooks/post-commit; echo x >> .git/config',
      'git add b.txt && git status --short b.txt',
    ].join('\n');
    const printed = out(await project.call('shell', { command }));
    expect(printed).not.toContain('canary');
    expect(printed).toContain('b\n');
    expect(printed).toContain('A  b.txt');
    expect(project.read('b.txt')).toBe('b\n');
    expect(project.read('.env')).toBe('canary\n');
    for (const skill of ['.claude/skills/x', 'team/x', 'sandbox/skills/x']) expect(project.read(`${skill}/SKILL.md`)).toBe('kept\n');
    expect(project.read('sandbox/agents/x/AGENT.md')).toBe('kept\n');
    for (const path of ['sandbox/extensions', 'sandbox/extensions.txt', '.git/hooks/post-commit'])
      expect(existsSync(project.at(path)), path).toBe(false);
  });

  it('U3 replaces nothing that it cannot change by moving the folder above it', async () => {
    const project = await projectWith(
      { '.claude/skills/x/SKILL.md': 'kept\n', 'lib/sub/.git/config': '[core]\n', 'linked/.git': 'gitdir: ../lib/sub/.git\n' },
      { git: true },
    );
    const config = project.read('.git/config');
    const command = [
      'mv .git g; mkdir -p .git/hooks; echo x > .git/config; echo x > .git/hooks/pre-commit',
      'mv .claude c; mkdir -p .claude/skills/x; echo x > .claude/skills/x/SKILL.md',
      'mv lib l; mv lib/sub s; mv lib/sub/.git g; echo x > lib/sub/.git/config; mkdir lib/sub/.git/hooks; echo x > lib/sub/.git/hooks/pre-commit',
      'rm -f linked/.git; mv linked k; echo "gitdir: /tmp" > linked/.git',
      'rm -rf .git/config .git/hooks .claude/skills sandbox',
      'echo done',
    ].join('\n');
    expect(out(await project.call('shell', { command }))).toContain('done');
    expect(project.read('.git/config')).toBe(config);
    expect(project.read('.claude/skills/x/SKILL.md')).toBe('kept\n');
    expect(project.read('lib/sub/.git/config')).toBe('[core]\n');
    expect(project.read('linked/.git')).toBe('gitdir: ../lib/sub/.git\n');
    for (const name of ['.git/hooks/pre-commit', 'lib/sub/.git/hooks/pre-commit']) expect(existsSync(project.at(name)), name).toBe(false);
  });

  it('U3 makes git start nothing: by hooks that lie elsewhere, by submodules, by another place of its settings', async () => {
    const project = await projectWith({ '.husky/pre-commit': 'kept\n', '.husky/_/h': '' }, { git: true });
    execFileSync('git', ['config', 'core.hooksPath', '.husky/_'], { cwd: project.root });
    mkdirSync(project.at('.git/modules/sub/hooks'), { recursive: true });
    writeFileSync(project.at('.git/modules/sub/config'), 'kept\n');
    const command = [
      'echo x > .husky/pre-commit; mv .husky h; mkdir -p .husky; echo x > .husky/pre-commit',
      'echo x > .git/modules/sub/config; echo x > .git/modules/sub/hooks/pre-commit',
      'mkdir evil; printf "[core]\\nfsmonitor = ./evil.sh\\n" > evil/config; echo ../evil > .git/commondir',
    ].join('\n');
    expect(out(await project.call('shell', { command }))).toContain('.git/commondir: Read-only');
    expect(project.read('.husky/pre-commit')).toBe('kept\n');
    expect(project.read('.git/modules/sub/config')).toBe('kept\n');
    expect(existsSync(project.at('.git/modules/sub/hooks/pre-commit'))).toBe(false);
    expect(project.read('.git/commondir')).toBe('.\n'); // which says nothing
  });

  it('U3 changes no settings of git that are included, or those of a working tree', async () => {
    const project = await projectWith(
      { 'shared.cfg': '[core]\n', '.myhooks/pre-commit': 'kept\n', 'more.cfg': '[core]\n\thooksPath = .myhooks\n' },
      { git: true },
    );
    for (const [name, value] of [
      ['include.path', '../shared.cfg'],
      ['extensions.worktreeConfig', 'true'],
      ['core.repositoryFormatVersion', '1'],
    ] as const)
      execFileSync('git', ['config', name, value], { cwd: project.root });
    for (const name of ['more.cfg', 'absent.cfg'])
      execFileSync('git', ['config', '--add', 'include.path', `../${name}`], { cwd: project.root });
    const set = (file: string) => `printf "[core]\\n\\tfsmonitor = ./evil.sh\\n" > ${file}`;
    const files = ['shared.cfg', 'more.cfg', '.git/config.worktree', 'absent.cfg'];
    const command = [...files.map(set), 'echo x > .myhooks/pre-commit'].join('\n');
    expect(out(await project.call('shell', { command }))).toContain('.git/config.worktree: Read-only');
    expect(project.read('shared.cfg')).toBe('[core]\n');
    expect(project.read('more.cfg')).toContain('hooksPath');
    expect(project.read('.myhooks/pre-commit')).toBe('kept\n');
    for (const name of ['.git/config.worktree', 'absent.cfg']) expect(project.read(name), name).toBe('');
  });

  it('U3 sees of the folders of PATH the programs and libraries, not what else lies beside them', async () => {
    const home = realpathSync(
      folderWith({
        'work/bin/tool': 'echo ran',
        'work/lib/a': 'library',
        'work/shop/.env': 'canary',
        '.fly/bin/fly': '',
        '.fly/config.yml': 'canary',
      }),
    );
    const before = process.env['PATH'];
    process.env['PATH'] = `${home}/work/bin:${home}/.fly/bin:${before}`;
    try {
      const project = await projectWith({}, { home });
      const command = `sh ${home}/work/bin/tool; cat ${home}/work/lib/a; ls -a ${home}/work ${home}/.fly; cat ${home}/work/shop/.env ${home}/.fly/config.yml`;
      const printed = out(await project.call('shell', { command }));
      expect(printed).toContain('ran');
      expect(printed).toContain('library');
      expect(printed).not.toMatch(/canary|config.yml\n|shop\n/u);
    } finally {
      process.env['PATH'] = before;
    }
  });

  it('U3 sees no secrets under names of copies', async () => {
    const names = words('.envrc prod.env .env~ secrets.prod.yaml .env-prod .vault-token id_rsa.bak auth.json wp-config.php');
    const project = await projectWith(Object.fromEntries(names.map((name) => [name, 'canary'])));
    const printed = out(await project.call('shell', { command: `cat ${names.join(' ')}; echo end` }));
    expect(printed).toContain('end');
    expect(printed).not.toContain('canary');
  });
});

describe.skipIf(!available)('U-8 commands that can only read', () => {
  const FILES = { 'a.txt': 'one\n', '.env': 'canary\n', 'sandbox/pith.yaml': '# canary\n' };

  it('U-8 run unasked, see no secrets, settings or keys of git, and change nothing whatever git is set to run', async () => {
    const project = await projectWith(FILES, { git: true });
    const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: project.root });
    git('rm', '-q', '--cached', '.env');
    project.write('run.sh', '#!/bin/sh\necho started; echo x > ran\n');
    execFileSync('chmod', ['+x', project.at('run.sh')]);
    git('config', 'diff.external', './run.sh');
    git('config', 'remote.origin.url', 'https://canary@localhost/x');
    project.write('a.txt', 'two\n');
    for (const command of [
      'git diff',
      'git status --short',
      'cat .env sandbox/pith.yaml .git/config',
      'grep -rn canary .',
      'ls -la | head -3',
      'git status --short 2>&1 | head -3 && ls',
    ])
      expect(await project.question('shell', { command }), command).toBeNull();
    const printed = async (command: string) => out(await project.approved('shell', { command }));
    expect(await printed('git diff')).toContain('started');
    expect(existsSync(project.at('ran'))).toBe(false);
    expect(await printed('git status --short | head -1')).toContain('AM a.txt');
    expect(await printed('cat a.txt .env sandbox/pith.yaml .git/config')).toMatch(/^two\n(?![^]*canary)[^]*\[exit code 1\]$/u);
    expect(await printed('grep -rn canary .')).not.toContain(':canary');
  });

  const missing = ['rg', 'fd', 'tree', 'jq'].find(isNowhere);
  it.runIf(missing)('U-8 nobody is asked about one that is not installed: bash says so', async () => {
    const project = await projectWith(FILES);
    const printed = out(await project.call('shell', { command: `${missing} a.txt || cat a.txt` })).split('\n');
    expect(printed.at(-1)).toBe('[exit code 0]');
    // They come by two pipes, in whatever order.
    expect(printed.slice(0, -1).toSorted()).toEqual([expect.stringMatching(/not found$/u), 'one']);
  });

  it.each([
    ['it writes', { command: 'git diff --output=a.txt' }],
    ['it has access', { command: 'git diff', access: ['network'] }],
    ['it runs in the background', { command: 'git status', background: true }],
    ['there are two lines', { command: 'git status\nrm a.txt' }],
  ])('U-8 are asked about where %s', async (_, input) => {
    const project = await projectWith(FILES, { git: true });
    expect(await project.question('shell', input)).not.toBeNull();
    expect(await project.approved('shell', input)).toMatchObject({ error: { code: 'approval_needed' } });
    expect(project.read('a.txt')).toBe('one\n');
  });

  it('U-8 print content that git keeps only where git keeps no secrets', async () => {
    const project = await projectWith({ 'a.txt': '', 'deep/server.pem': 'canary' }, { git: true });
    for (const command of ['git diff', 'git log -p', 'git show HEAD:deep/server.pem', 'git grep canary'])
      expect(await project.question('shell', { command }), command).not.toBeNull();
    expect(await project.question('shell', { command: 'git status' })).toBeNull();
  });

  it('9 U-8 are judged once: what was decided holds for the execution of this very call, and for no other', async () => {
    const project = await projectWith({ 'a.txt': 'a\n' }, { git: true });
    const refused = { error: { code: 'approval_needed' } };
    const show = { command: 'git diff --cached' };
    const otherTurn = askedTools(project.test, 'project_tools', { ...project.turn, id: 't2' });
    expect(await project.question('shell', show)).toBeNull();
    project.write('.env', 'canary');
    execFileSync('git', ['add', '.env'], { cwd: project.root }); // from now on it would be asked about
    expect(await project.approved('shell', { command: 'git diff' })).toMatchObject(refused);
    expect(await otherTurn.approved('shell', show)).toMatchObject(refused);
    expect(out(await project.approved('shell', show))).toContain('[exit code 0]');
    expect(await project.approved('shell', show)).toMatchObject(refused);
  });

  it('3 U-8 nor where a secret file was where a folder is now', async () => {
    const project = await projectWith({ 'a.txt': '' }, { git: true });
    const commit = 'git add -A; git -c user.name=a -c user.email=a@b commit -qm x';
    const made = `echo KEY=1 > .env; ${commit}; rm .env; mkdir .env; echo x > .env/notes.md; ${commit}; git rm -qr .env; ${commit}`;
    execFileSync('bash', ['-ec', made], { cwd: project.root });
    expect(await project.question('shell', { command: 'git log -p', cwd: '.' })).not.toBeNull();
  });

  it('3 U-8 nor where a commit, a stash, a log of refs or the repository around the folder has one; what prints no content is not asked about', async () => {
    const project = await projectWith({ 'a.txt': '' }, { git: true });
    const made = (script: string) => execFileSync('bash', ['-ec', script], { cwd: project.root });
    const asks = async (command: string, cwd = '.') => (await project.question('shell', { command, cwd })) !== null;
    expect(await asks('git log -p')).toBe(false);
    const git = 'git -c user.name=a -c user.email=a@b';
    made(`${git} commit -qm first; git init -q inner; cd inner; echo KEY=1 > .env; git add .env; ${git} commit -qm x`);
    expect([await asks('git log -p'), await asks('git show HEAD:.env', 'inner')]).toEqual([false, true]);
    for (const [how, undo] of [
      [`echo KEY=2 > .env; ${git} stash -qu -- .env`, 'git stash drop -q'],
      [
        `echo KEY=3 > .env; git add .env; ${git} commit -qm y; git reset -q --hard HEAD~1`,
        'git reflog expire --expire=now --all; rm .git/ORIG_HEAD',
      ],
      [`echo KEY=4 > .env; git add .env; ${git} commit -qm z; git rm -q .env; ${git} commit -qm w`, 'true'],
    ] as const) {
      made(how);
      for (const command of ['git log -p -- .env', "git show 'stash@{0}^3'", 'git diff HEAD~1', 'git log -S KEY'])
        expect(await asks(command), `${how} ${command}`).toBe(true);
      for (const command of ['git log --oneline --stat -5', 'git status']) expect(await asks(command), `${how} ${command}`).toBe(false);
      made(undo);
      expect(await asks('git log -p'), undo).toBe(undo === 'true');
    }
  });

  it('3 S7 see no secrets that a command that was allowed has moved to where none were looked for, and no keys of a bare repository', async () => {
    const secrets = { 'conf/.env': 'canary', '.kube/config': 'canary', '.docker/x/y': 'canary', 'gh/hosts.yml': 'canary' };
    const project = await projectWith({
      ...secrets,
      '.bare/HEAD': '',
      '.bare/config': 'canary',
      '.bare/objects/x': '',
      '.bare/refs/x': '',
    });
    const moves = ['conf node_modules/conf', '.kube k', '.docker/x d', 'gh g', 'gh/hosts.yml h'];
    const moved = out(await project.call('shell', { command: `mkdir node_modules; for m in '${moves.join("' '")}'; do mv $m; done` }));
    expect(moved).toContain('Device or resource busy');
    expect(['.kube/config', '.docker/x/y', 'gh/hosts.yml'].filter((name) => !existsSync(project.at(name)))).toEqual([]);
    expect(project.read('node_modules/conf/.env')).toBe('canary');
    for (const command of ['cat node_modules/conf/.env k/config d/y g/hosts.yml h .bare/config', 'grep -r canary .']) {
      expect(await project.question('shell', { command })).toBeNull();
      expect(out(await project.approved('shell', { command }))).not.toMatch(/canary$/mu);
    }
  });

  it('U-8 are asked about where the settings say so; always then covers what can only read', async () => {
    const settings = 'extensions:\n  project_tools:\n    shell:\n      ask_for_reading: true\n';
    const project = await projectWith({ 'a.txt': '', 'sandbox/pith.yaml': settings }, { git: true });
    expect(await project.question('shell', { command: 'git diff --stat' })).toMatchObject({
      always: { key: 'command:git diff …', covers: '`git diff` with all that can only read' },
    });
    expect(await project.question('shell', { command: 'git diff --output=a.txt' })).toMatchObject({
      always: { key: 'command:git diff --output=a.txt', covers: 'exactly `git diff --output=a.txt`' },
    });
  });
});
