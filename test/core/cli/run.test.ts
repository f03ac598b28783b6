import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PithError, type Command, type CommandInput, type CommandIO } from '../../../core/contract/index.ts';
import type { Target } from '../../../core/cli/boot.ts';
import { cli, declare, fakeBoot, type BootLog } from './fakes.ts';

const ran: { input?: CommandInput; io?: CommandIO } = {};
const COMMANDS: readonly Command[] = [
  {
    path: 'things list',
    description: 'List things',
    options: [{ name: 'all', type: 'boolean', description: 'All of them' }],
    run: async (input, io) => ((ran.input = input), (ran.io = io), io.print('a thing'), io.json(['a thing'])),
  },
  {
    path: 'things show',
    description: 'Show a thing',
    arguments: [{ name: 'id', description: 'Which', required: true }],
    run: async () => 0,
  },
  {
    path: 'talk',
    description: 'Talks',
    options: [{ name: 'prompt', type: 'string', description: 'One message' }],
    unservedWith: ['prompt'],
    run: async () => 130,
  },
  {
    path: 'fail',
    description: 'Fails',
    run: async () => Promise.reject(new PithError('not_found', 'thing x: it is gone', { where: 'things.yaml:3', cure: 'make it anew' })),
  },
];

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-cli-')));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const boot = (log: BootLog = [], targets: Target[] = []) =>
  fakeBoot({
    declared: [declare('things', 'index'), declare('talk', 'started'), declare('fail', 'initialized')],
    commands: COMMANDS,
    log,
    targets,
  });

describe('running a command line', () => {
  it('boots for a command that needs the index its entry only, and no kernel', async () => {
    const log: BootLog = [];
    expect(await cli(['things', 'list', '--all'], { boot: boot(log) })).toEqual({ code: 0, out: 'a thing\n', err: '' });
    expect(log).toEqual(['declared', 'entry', 'close']);
    expect(ran.input).toEqual({ arguments: {}, options: { all: true } });
  });

  it('activates and starts for one that needs it, and passes its exit code on', async () => {
    const log: BootLog = [];
    expect((await cli(['talk'], { boot: boot(log) })).code).toBe(130);
    expect(log).toEqual(['declared', 'activate sample', 'kernel', 'start', 'close']);
  });

  it('starts only what is used, and no services, with an option that makes it short', async () => {
    const log: BootLog = [];
    expect((await cli(['talk', '--prompt', 'hi'], { boot: boot(log) })).code).toBe(130);
    expect(log).toEqual(['declared', 'activate sample', 'kernel', 'start used', 'close']);
  });

  it('K50 says on the error stream what in the settings does not hold, in every mode, once', async () => {
    const findings = [
      {
        severity: 'error',
        code: 'settings_invalid',
        message: "'approvals.tool' is not known",
        file: 'pith.yaml',
        line: 2,
        cure: 'Mend it',
      },
      { severity: 'warning', code: 'unknown_key', message: 'other' },
    ] as const;
    const broken = fakeBoot({ declared: [declare('talk', 'started')], commands: COMMANDS, kernel: { findings: () => findings } });
    for (const words of [['talk'], ['talk', '--json'], ['talk', '--quiet']])
      expect((await cli(words, { boot: broken })).err).toBe("pith: settings: pith.yaml:2: 'approvals.tool' is not known; Mend it\n");
  });

  it('does not start services for wrong use', async () => {
    const log: BootLog = [];
    expect(await cli(['talk', '--loud'], { boot: boot(log) })).toMatchObject({ code: 2, out: '' });
    expect(log).not.toContain('start');
  });

  it('reads the declared commands only when the kernel has none of that name', async () => {
    const log: BootLog = [];
    await cli(['agents', 'list'], { boot: boot(log) });
    expect(log).toEqual(['kernel', 'close']);
  });

  it('prints what, where, why and cure of an error, and exits 1', async () => {
    expect(await cli(['fail'], { boot: boot() })).toEqual({
      code: 1,
      out: '',
      err: 'pith: thing x things.yaml:3: it is gone; make it anew\n',
    });
  });

  it.each([
    [['agnts'], "pith: unknown command 'agnts': no extension or part of Pith has it; did you mean 'agents'?\n"],
    [['agents', 'lst'], "pith: unknown command 'agents lst': no extension or part of Pith has it; did you mean 'agents list'?\n"],
    [['things', 'lsit'], "pith: unknown command 'things lsit': no extension or part of Pith has it; did you mean 'things list'?\n"],
    [['agents'], "pith: 'agents' needs another word: list, show, prompt; see: pith agents --help\n"],
    [['agents', 'list', '--jsn'], "pith: wrong use of 'agents list': unknown option '--jsn'; write: agents list\n"],
    [['--versoin'], "pith: unknown option '--versoin': it stands before any command; did you mean '--version'?\n"],
    [['agents', 'show'], "pith: wrong use of 'agents show': <id> is missing; write: agents show <id>\n"],
    [['agents', 'list', '--sandbox'], 'pith: wrong use of --sandbox: it needs a folder; write: --sandbox <folder>\n'],
    [['agents', 'list', '--sandbox', 'nowhere'], "pith: the sandbox 'nowhere' is not a folder; make one with: pith init nowhere\n"],
  ])('tells wrong use and exits 2: %j', async (argv, err) => {
    expect(await cli(argv, { boot: boot(), cwd: folder })).toEqual({ code: 2, out: '', err });
  });

  it('K44 names the nearest agent, tool and extension for an unknown one', async () => {
    expect(await cli(['agents', 'show', 'mian'])).toEqual({
      code: 1,
      out: '',
      err: "pith: no agent 'mian': nothing declares it; did you mean 'main'?; see: pith agents list\n",
    });
    expect((await cli(['extensions', 'show', 'vk'])).err).toContain("did you mean 'kv'?");
    expect((await cli(['threads', 'show', 't2'])).err).toContain("did you mean 't1'?");
  });

  it('says why a command that is declared is not there', async () => {
    const withheld = [
      { path: 'sing', extensionId: 'singer', reason: null },
      { path: 'dance', extensionId: 'dancer', reason: 'it has no feet' },
    ];
    expect(await cli(['sing', 'loudly'], { boot: fakeBoot({ withheld }) })).toMatchObject({
      code: 2,
      err: "pith: no command 'sing': its extension 'singer' is switched off; switch it on in pith.yaml: extensions.singer.enabled\n",
    });
    expect((await cli(['dance'], { boot: fakeBoot({ withheld }) })).err).toContain('it has no feet; see: pith doctor');
  });

  it('says in a terminal that the sandbox is not one of this folder', async () => {
    expect((await cli(['talk'], { boot: boot(), cwd: folder, terminal: true })).err).toBe(
      `sandbox: ${path.resolve('sandbox')} (there is none here)\n`,
    );
    expect((await cli(['talk'], { boot: boot(), cwd: path.resolve('core'), terminal: true })).err).toBe('');
    expect((await cli(['talk'], { boot: boot(), cwd: folder })).err).toBe('');
  });

  it('finds the nearest sandbox upwards, or takes the named one', async () => {
    await mkdir(path.join(folder, 'project/sandbox/agents'), { recursive: true });
    await mkdir(path.join(folder, 'project/src/sandbox/castle'), { recursive: true }); // somebody else's
    await mkdir(path.join(folder, 'empty'));
    const targets: Target[] = [];
    for (const cwd of ['project', 'project/src', 'project/sandbox', 'project/sandbox/agents'])
      await cli(['doctor'], { boot: boot([], targets), cwd: path.join(folder, cwd) });
    expect(new Set(targets.map(({ sandbox }) => sandbox))).toEqual(new Set([path.join(folder, 'project/sandbox')]));

    targets.length = 0;
    await cli(['--sandbox', '../empty', 'doctor'], { boot: boot([], targets), cwd: path.join(folder, 'project') });
    await cli(['doctor'], {
      boot: boot([], targets),
      cwd: path.join(folder, 'project'),
      env: { PITH_SANDBOX: path.join(folder, 'empty') },
    });
    await cli(['doctor'], { boot: boot([], targets), cwd: folder });
    expect(targets.map(({ sandbox }) => sandbox)).toEqual([
      path.join(folder, 'empty'),
      path.join(folder, 'empty'),
      path.resolve('sandbox'),
    ]);
  });

  it('S15 turns --no-skills into a setting before the kernel is made', async () => {
    const targets: Target[] = [];
    await cli(['talk', '--no-skills'], { boot: boot([], targets) });
    expect(targets[0]?.flags).toEqual({ skills: { enabled: false } });
  });

  it('prints only JSON on the output under --json, wherever it stands', async () => {
    for (const argv of [
      ['things', 'list', '--json'],
      ['--json', 'things', 'list'],
    ]) {
      expect(await cli(argv, { boot: boot() })).toEqual({ code: 0, out: '["a thing"]\n', err: '' });
    }
  });

  it('uses colour only on a terminal without NO_COLOR', async () => {
    const plain = await cli(['agents', 'list']);
    expect(plain.out).not.toContain('\u001b');
    expect((await cli(['agents', 'list'], { terminal: true })).out).toContain('\u001b[');
    expect((await cli(['agents', 'list'], { terminal: true, env: { NO_COLOR: '1' } })).out).not.toContain('\u001b');
    expect((await cli(['agents', 'list', '--json'], { terminal: true })).out).not.toContain('\u001b');
  });

  it('prints the version', async () => {
    expect((await cli(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/u);
  });
});

describe('help', () => {
  it('comes from the definitions: all, a group, a command of the kernel, one of an extension', async () => {
    const all = await cli([], { boot: boot() });
    expect(all.code).toBe(0);
    for (const line of [
      /^ {2}agents list +List the agents$/mu,
      /^ {2}things +Does things$/mu,
      /^ {2}init \[dir\] +Make a new sandbox/mu,
      /--sandbox <sandbox>/u,
    ])
      expect(all.out).toMatch(line);
    expect((await cli(['--help'], { boot: boot() })).out).toBe(all.out);

    expect((await cli(['agents', '--help'], { boot: boot() })).out).toMatch(/^ {2}agents prompt <id>/mu);
    const prompt = await cli(['agents', 'prompt', '-h'], { boot: boot() });
    expect(prompt.out).toContain('Usage: pith agents prompt <id> [--text <text>]');
    expect((await cli(['things', '--help'], { boot: boot() })).out).toMatch(/^ {2}things show <id> +Show a thing$/mu);
    const split = fakeBoot({ declared: [declare('things', 'index'), declare('things count', 'initialized')], commands: COMMANDS });
    expect((await cli(['things', '--help'], { boot: split })).out).toMatch(/^ {2}things count +Does things count$[^]*^ {2}things show/mu);
    const log: BootLog = [];
    expect((await cli(['things', 'list', '--help'], { boot: boot(log) })).out).toContain('Usage: pith things list [--all]');
    expect(log).not.toContain('kernel');
  });

  it('helps also where the sandbox is broken', async () => {
    const broken = { ...boot(), declared: async () => Promise.reject(new Error('the index is torn')) };
    const help = await cli([], { boot: broken });
    expect(help).toMatchObject({ code: 0, err: 'pith: the index is torn\n' });
    expect(help.out).toContain('agents list');
  });
});
