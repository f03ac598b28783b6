import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Command, type CommandInput, type CommandIO, PithError } from '../../../core/contract/index.ts';
import type { Target } from '../../../core/cli/index.ts';
import { cli, declare, fakeOpen, type FakeKernel } from './fakes.ts';
import { folderWith } from '../../places.ts';

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
    run: async () => 130,
  },
  {
    path: 'chat',
    description: 'Chats',
    arguments: [{ name: 'text', description: 'One message', variadic: true }],
    options: [
      { name: 'prompt', short: 'p', type: 'string', description: 'One message' },
      { name: 'continue', short: 'c', type: 'boolean', description: 'Go on' },
    ],
    run: async (input, io) => void ((ran.input = input), (ran.io = io)),
  },
  { path: 'things sum', description: 'Count things', run: async (_, io) => io.print('1') },
  { path: 'things probe', description: 'For programs', hidden: true, run: async (_, io) => io.print('probed') },
  {
    path: 'fail',
    description: 'Fails',
    run: async () => Promise.reject(new PithError('not_found', 'thing x: it is gone', { where: 'things.yaml:3', cure: 'make it anew' })),
  },
];

let folder: string;
beforeEach(() => void (folder = folderWith()));

const openKernel = (log: string[] = [], targets: Target[] = []) =>
  fakeOpen({
    declared: [
      { ...declare('things', 'index'), first: 5 },
      declare('talk', 'started'),
      declare('fail', 'initialized'),
      { ...declare('chat', 'initialized'), first: 1 },
      declare('bundles make', 'initialized'),
      { ...declare('numbers', 'initialized'), hidden: true },
    ],
    commands: COMMANDS,
    log,
    targets,
  });

describe('running a command line', () => {
  it('imports for a command that needs the index its entry only, and activates nothing', async () => {
    const log: string[] = [];
    expect(await cli(['things', 'list', '--all'], { openKernel: openKernel(log) })).toEqual({ code: 0, out: 'a thing\n', err: '' });
    expect(log).toEqual(['kernel', 'declared', 'entry', 'stop']);
    expect(ran.input).toEqual({ arguments: {}, options: { all: true } });
  });

  it('activates one that needs it, starts services only on a terminal, and passes its exit code on', async () => {
    for (const [terminal, started] of [
      [true, 'start'],
      [false, 'start used'],
    ] as const) {
      const log: string[] = [];
      expect((await cli(['talk'], { openKernel: openKernel(log), terminal })).code).toBe(130);
      expect(log).toEqual(['kernel', 'declared', 'activate sample', started, 'stop']);
    }
  });

  it('starts no services where a command that begins before them does not ask for them, and says the problems after it', async () => {
    const log: string[] = [];
    const runBeforeStart = async () => void log.push('answer');
    const openKernel = openTalk({ problems: async () => (log.push('problems'), [problem(1)]) }, { runBeforeStart }, log);
    const { err } = await cli(['talk'], { openKernel, cwd: folder, terminal: true });
    expect(log.slice(log.indexOf('start used'))).toEqual(['start used', 'answer', 'problems', 'stop']);
    expect(err).toContain('problem 1; mend it');
  });

  it('starts services for what is piped where the command stays, and says the problems as for a script', async () => {
    const log: string[] = [];
    const runBeforeStart = async (_: CommandInput, _io: CommandIO, start: () => Promise<string | null>) =>
      void log.push(`told ${await start()}`);
    const openKernel = openTalk({ problems: async () => [problem(1)] }, { runBeforeStart }, log);
    const { err } = await cli(['talk'], { openKernel, cwd: folder });
    expect(log.slice(log.indexOf('start used'))).toEqual(['start used', 'start', 'told null', 'stop']);
    expect(err).toContain('problem 1; mend it');
  });

  const problem = (number: number, message = `problem ${number}`) =>
    ({ severity: 'error', code: 'unknown_key', message, file: path.join(folder, 'pith.yaml'), line: number, cure: 'mend it' }) as const;
  /** The kernel of these parts, whose command `talk` does this. */
  const openTalk = (kernel: FakeKernel['kernel'], talk: Partial<Command> = {}, log: string[] = []) => {
    const commands = COMMANDS.map((each) => (each.path === 'talk' ? { ...each, ...talk } : each));
    return fakeOpen({ declared: [declare('talk', 'started')], commands, kernel, log });
  };

  it('K50 says on the error stream what in the settings does not hold, in every mode, once', async () => {
    const findings = [problem(2, "'approvals.tool' is not known"), { severity: 'warning', code: 'unknown_key', message: 'other' }] as const;
    const broken = fakeOpen({ declared: [declare('things', 'index')], commands: COMMANDS, kernel: { findings: () => findings } });
    for (const mode of [[], ['--json'], ['--quiet']]) {
      const { err } = await cli(['things', 'list', ...mode], { openKernel: broken, cwd: folder });
      expect(err).toBe("pith: pith.yaml:2: 'approvals.tool' is not known; mend it\n");
    }
  });

  it('use.md 3: a conversation in a terminal begins with its problems, a line each', async () => {
    const talk = (count: number, terminal = true, ...words: string[]) => {
      const problems = async () => Array.from({ length: count }, (_, at) => problem(at + 1));
      return cli(['talk', ...words], { openKernel: openTalk({ problems }), cwd: path.resolve('core'), terminal });
    };
    expect(await talk(0)).toMatchObject({ out: '', err: '' });
    expect((await talk(1)).out).toMatch(/^1 problem \(\/doctor\):\n {2}.*pith\.yaml:1: problem 1; mend it\n$/u);
    expect((await talk(2)).out).toMatch(/^2 problems \(\/doctor\):\n.*problem 1; .*\n.*problem 2; .*\n$/u);
    expect((await talk(9)).out).toMatch(/^9 problems \(\/doctor for the rest\):\n.*problem 1; .*\n.*problem 2; .*\n.*problem 3; .*\n$/u);
  });

  it('T21 the errors among many problems come first', async () => {
    const warnings = [1, 2, 3, 4].map((at) => ({ ...problem(at, `warning ${at}`), severity: 'warning' as const }));
    const openKernel = openTalk({ problems: async () => [...warnings, problem(5, 'the error')] });
    const { out } = await cli(['talk'], { openKernel, cwd: path.resolve('core'), terminal: true });
    expect(out).toMatch(/^5 problems \(\/doctor for the rest\):\n.*the error; .*\n.*warning 1; .*\n.*warning 2; .*\n$/u);
  });

  it('29 a command that begins before the services starts them itself, and is told the problems then', async () => {
    const log: string[] = [];
    const problems = async () => (log.push('problems'), [problem(1)]);
    const runBeforeStart = async (_: CommandInput, _io: CommandIO, start: () => Promise<string | null>) => {
      log.push('drawn');
      log.push(`told ${await start()}`);
    };
    const openKernel = openTalk({ problems }, { runBeforeStart }, log);
    const { out } = await cli(['talk'], { openKernel, cwd: folder, terminal: true });
    expect(out).toBe('');
    expect(log.slice(log.indexOf('drawn'))).toEqual([
      'drawn',
      'start',
      'problems',
      'declared', // their opening lines
      expect.stringMatching(/^told 1 problem \(\/doctor\):\n {2}.*problem 1; mend it$/u),
      'stop',
    ]);
  });

  it('U30 a command is told of its shell: what is piped in, and whether its terminal is dumb', async () => {
    const seen: unknown[] = [];
    const run = async (_: CommandInput, { shell }: CommandIO) => {
      const bytes: Uint8Array[] = [];
      if (shell?.piped) for await (const chunk of shell.piped.bytes) bytes.push(chunk);
      seen.push([shell?.plain, shell?.piped && Buffer.concat(bytes).toString()]);
    };
    const commands = COMMANDS.map((each) => (each.path === 'talk' ? { ...each, run } : each));
    const openKernel = fakeOpen({ declared: [declare('talk', 'started')], commands });
    for (const options of [{ input: 'boats' }, { terminal: true }, { terminal: true, env: { TERM: 'dumb' } }])
      expect(await cli(['talk'], { openKernel, cwd: folder, ...options })).toMatchObject({ code: 0, err: '' });
    expect(seen).toEqual([
      [false, 'boats'],
      [false, null],
      [true, null],
    ]);
  });

  it('29 one message asks about its own agent before it, and about all others after the answer', async () => {
    await mkdir(path.join(folder, 'sandbox/agents'), { recursive: true });
    const log: string[] = [];
    const problems = async (agentId?: string) => (log.push(`problems ${agentId}`), agentId === undefined ? [problem(1)] : []);
    const run = async (_: CommandInput, io: CommandIO) => (log.push('answer'), io.error('✓ step'));
    const { err } = await cli(['talk', '--prompt', 'hi'], { openKernel: openTalk({ problems }, { run }, log), cwd: folder });
    expect(log.slice(log.indexOf('start used'))).toEqual(['start used', 'problems main', 'answer', 'problems undefined', 'stop']);
    expect(err).toBe('✓ step\npith: pith.yaml:1: problem 1; mend it\n');
  });

  it('use.md 3: one message and a pipe say problems on the error stream, each once, and keep the exit code', async () => {
    await mkdir(path.join(folder, 'sandbox/agents'), { recursive: true });
    const texts = (count: number) =>
      Array.from({ length: count }, (_, at) => `pith: pith.yaml:${at + 1}: problem ${at + 1}; mend it\n`).join('');
    const problems = async () => Array.from({ length: 22 }, (_, at) => problem(at + 1));
    const run = async (_input: CommandInput, io: CommandIO) => (
      io.error('problem 2; mend it'),
      io.error('✓ step'),
      io.error('✓ step'),
      io.error(
        'pith: problem',
      ), // part of one that was said
      130
    );
    for (const words of [['talk'], ['talk', '--prompt', 'hi'], ['talk', '--json']]) {
      const { code, out, err } = await cli(words, { openKernel: openTalk({ problems }, { run }), cwd: folder });
      expect({ code, out }).toEqual({ code: 130, out: '' });
      expect(err).toBe(`${texts(20)}and 2 more: pith doctor\n✓ step\n✓ step\npith: problem\n`);
    }
    let noticed = false;
    const late = async () => (noticed ? [problem(1)] : []);
    const notices = async (_: CommandInput, io: CommandIO) => ((noticed = true), io.error('problem 1; mend it'));
    const openKernel = openTalk({ problems: late }, { run: notices });
    expect((await cli(['talk'], { openKernel, cwd: folder })).err).toBe('problem 1; mend it\n');
  });

  it('use.md 3: a pipe says what comes meanwhile when it comes, and no error of a turn for an agent whose errors were said', async () => {
    await mkdir(path.join(folder, 'sandbox/agents'), { recursive: true });
    const found = [1, 2].map((number) => problem(number, `the agent 'me' cannot run: reason ${number}`));
    const listeners = new Map<string, (payload: unknown) => void>();
    const events = { handle: (topic: string, listener: (payload: unknown) => void) => listeners.set(topic, listener) };
    const run = async (_: CommandInput, io: CommandIO) => {
      io.error("pith: the agent 'me' cannot run: (1) reason 1 (2) reason 2");
      io.error("pith: the agent 'you' cannot run: reason 1");
      listeners.get('problem.found')!(problem(3));
      listeners.get('extension.failed')!({ extensionId: 'kv', phase: 'reload', code: 'x', message: 'no' });
      listeners.get('extension.failed')!({ extensionId: 'kv', phase: 'tool call', code: 'x', message: 'a tool failed' });
      found.push(problem(3));
      io.error('problem 3; mend it');
    };
    const openKernel = openTalk({ problems: async () => [...found], events }, { run });
    expect((await cli(['talk'], { openKernel, cwd: folder })).err.split('\n')).toEqual([
      "pith: the agent 'me' cannot run pith.yaml:1: reason 1; mend it",
      "pith: the agent 'me' cannot run pith.yaml:2: reason 2; mend it",
      "pith: the agent 'you' cannot run: reason 1",
      'pith: pith.yaml:3: problem 3; mend it',
      "pith: the extension 'kv' was not reloaded: no",
      '',
    ]);
  });

  it('an interruption ends a start that hangs, and a doctor, without a word', async () => {
    const stop = new AbortController();
    const never = () => (stop.abort(), new Promise<never>(() => undefined));
    const openKernel = openTalk({ doctor: never });
    expect(await cli(['doctor'], { openKernel, signal: stop.signal })).toMatchObject({ code: 1, out: '', err: '' });
    const hangs: typeof openKernel = async (target) => ({ ...(await openKernel(target)), start: never });
    const again = new AbortController();
    setImmediate(() => again.abort());
    expect(await cli(['talk'], { openKernel: hangs, signal: again.signal })).toMatchObject({ code: 1, out: '', err: '' });
  });

  it('does not start services for wrong use', async () => {
    const log: string[] = [];
    expect(await cli(['talk', '--loud'], { openKernel: openKernel(log) })).toMatchObject({ code: 2, out: '' });
    expect(log).not.toContain('start');
  });

  it('reads the declared commands only when the kernel has none of that name', async () => {
    const log: string[] = [];
    await cli(['agents', 'list'], { openKernel: openKernel(log) });
    expect(log).toEqual(['kernel', 'stop']);
  });

  it('prints what, where, why and cure of an error, and exits 1', async () => {
    expect(await cli(['fail'], { openKernel: openKernel() })).toEqual({
      code: 1,
      out: '',
      err: 'pith: thing x things.yaml:3: it is gone; make it anew\n',
    });
  });

  it.each([
    [['agnts'], "pith: unknown command 'agnts' (did you mean 'agents'?); to send it as a message: pith -p agnts\n"],
    [['agents', 'lst'], "pith: unknown command 'agents lst' (did you mean 'agents list'?)\n"],
    [['agents', 'remove'], "pith: unknown command 'agents remove'; see: pith agents --help\n"],
    [['approvals', 'aprove', '1'], "pith: unknown command 'approvals aprove' (did you mean 'approvals approve'?)\n"], // T33
    [['things', 'lsit'], "pith: unknown command 'things lsit' (did you mean 'things list'?)\n"],
    [['secret'], "pith: unknown command 'secret' (did you mean 'secrets' or 'serve'?); to send it as a message: pith -p secret\n"],
    [['models'], "pith: unknown command 'models'; connect a model: pith setup; which one answers: pith doctor\n"],
    [['reload'], "pith: unknown command 'reload'; see: pith extensions reload; to send it as a message: pith -p reload\n"],
    [
      ['approve', 'list'],
      'pith: unknown command \'approve\'; see: pith approvals approve; to send it as a message: pith -p "approve list"\n',
    ],
    [['bundles'], "pith: choose a subcommand of 'bundles': make; see: pith bundles --help\n"],
    [
      ['agents', 'list', '--jsn'],
      "pith: wrong use of 'agents list': unknown option '--jsn' (did you mean '--json'?); write: pith agents list\n",
    ],
    [
      ['--versoin'],
      "pith: wrong use of 'chat': unknown option '--versoin' (did you mean '--version' or '--json'?); write: pith chat [text…] [--prompt <prompt>] [--continue]\n",
    ],
    [['agents', 'show'], "pith: wrong use of 'agents show': <id> is missing; write: pith agents show <id>\n"],
    [['agents', 'list', '--sandbox'], 'pith: wrong use of --sandbox: it needs a folder; write: --sandbox <folder>\n'],
    [['agents', 'list', '--sandbox', 'nowhere'], "pith: the sandbox 'nowhere' is not a folder; make one with: pith init nowhere\n"],
    [
      ['doctor', '--sandbox', 'around'],
      "pith: 'around' is not a sandbox: it has none of agents, extensions, skills, pith.yaml; did you mean 'around/sandbox'?\n",
    ],
    [
      ['doctor', '--sandbox', 'other'],
      "pith: 'other' is not a sandbox: it has none of agents, extensions, skills, pith.yaml; make one with: pith init other\n",
    ],
  ])('tells wrong use and exits 2: %j', async (argv, err) => {
    for (const name of ['around/sandbox/agents', 'other/src']) await mkdir(path.join(folder, name), { recursive: true });
    expect(await cli(argv, { openKernel: openKernel(), cwd: folder })).toEqual({ code: 2, out: '', err });
  });

  it('U31 takes a group alone for its list, of the kernel and of an extension, with options', async () => {
    for (const words of [['things'], ['things', '--all']])
      expect(await cli(words, { openKernel: openKernel() })).toMatchObject({ code: 0, out: 'a thing\n', err: '' });
    expect(ran.input?.options).toEqual({ all: true });
    expect((await cli(['agents'], { openKernel: openKernel() })).out).toMatch(/^AGENT/u);
  });

  it.each([
    [[], {}, {}],
    [['fix the tests'], { text: ['fix the tests'] }, {}],
    [['plugh'], { text: ['plugh'] }, {}],
    [['plugh', 'xyzzy'], { text: ['plugh', 'xyzzy'] }, {}],
    [['agents are what?'], { text: ['agents are what?'] }, {}],
    [['-p', 'agents'], {}, { prompt: 'agents' }],
    [['--prompt', 'hello there'], {}, { prompt: 'hello there' }],
    [['-c'], {}, { continue: true }],
    [['--continue', '-p', 'x'], {}, { prompt: 'x', continue: true }],
    [['fix the tests', '-c'], { text: ['fix the tests'] }, { continue: true }],
    [['--', '-1 is what?'], { text: ['-1 is what?'] }, {}],
  ] as const)('U30 talks where no command is named: pith %j', async (argv, given, options) => {
    expect(await cli([...argv], { openKernel: openKernel() })).toMatchObject({ code: 0, err: '' });
    expect(ran.input).toEqual({ arguments: given, options });
  });

  it.each([['agnts'], ['thing'], ['agents', 'are'], ['secret', 'of', 'life'], ['hlep']])(
    'U30 takes what is near a command for a slip: pith %s %s %s',
    async (...argv) => {
      const { code, err } = await cli(argv, { openKernel: openKernel() });
      expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^pith: unknown command '/u) });
    },
  );

  it('says why a command that is declared is not there', async () => {
    const withheld = [
      { id: 'singer', state: 'disabled', manifest: { commands: [{ path: 'sing' }] } },
      { id: 'dancer', state: 'failed', message: 'it has no feet', manifest: { commands: [{ path: 'dance' }] } },
      { id: 'sorter', state: 'disabled', manifest: { commands: [{ path: 'things sort' }] } },
    ];
    const kernel = { host: { extensions: { list: () => withheld } } };
    const openKernel = fakeOpen({ kernel, declared: [declare('things', 'index')], commands: COMMANDS });
    expect(await cli(['sing', 'loudly'], { openKernel })).toMatchObject({
      code: 2,
      err: "pith: no command 'sing': its extension 'singer' is switched off; switch it on in pith.yaml: extensions.singer.enabled\n",
    });
    expect((await cli(['dance'], { openKernel })).err).toContain('it has no feet; see: pith doctor');
    const sorted = await cli(['things', 'sort'], { openKernel });
    expect(sorted.err).toContain("no command 'things sort': its extension 'sorter' is switched off");
    expect(await cli(['things', 'list'], { openKernel })).toMatchObject({ code: 0 });
  });

  it('finds the nearest sandbox upwards, or takes the named one', async () => {
    await mkdir(path.join(folder, 'project/sandbox/agents'), { recursive: true });
    await mkdir(path.join(folder, 'project/src/sandbox/castle'), { recursive: true }); // somebody else's
    await mkdir(path.join(folder, 'empty/data'), { recursive: true }); // as it is when it was begun
    const targets: Target[] = [];
    const called = (cwd: string, argv: readonly string[] = [], env = {}) =>
      cli([...argv, 'doctor'], { openKernel: openKernel([], targets), cwd: path.join(folder, cwd), env });
    for (const cwd of ['project', 'project/src', 'project/sandbox', 'project/sandbox/agents']) await called(cwd);
    expect(new Set(targets.map(({ sandbox }) => sandbox))).toEqual(new Set([path.join(folder, 'project/sandbox')]));

    targets.length = 0;
    await called('project', ['--sandbox', '../empty']);
    await called('project', [], { PITH_SANDBOX: path.join(folder, 'empty') });
    await called('');
    expect(targets.map(({ sandbox }) => sandbox)).toEqual([
      path.join(folder, 'empty'),
      path.join(folder, 'empty'),
      expect.stringMatching(/[/]\.pith[/]projects[/][0-9a-f]{32}[/]sandbox$/),
    ]);
    expect(targets.at(-1)?.trust).toMatchObject({ isBare: true, project: folder });
  });

  it('S15 hands every word with dashes to the kernel, where an extension may declare it as a switch', async () => {
    const targets: Target[] = [];
    for (const line of ['talk --no-things', '--no-things talk']) {
      await cli(line.split(' '), { openKernel: openKernel([], targets) });
      expect(targets.pop()?.switches).toEqual(['no-things']);
    }
  });

  it('K7 the own option of a command is none of the switches that extensions declare; what follows -- is left alone', async () => {
    const switches = ['all', 'no-things'].map((name) => ({ name, description: '', config: {} }));
    const list = () => [{ id: 'sample', state: 'active', manifest: { commands: [], switches } }];
    const targets: Target[] = [];
    const kernel = { host: { extensions: { list } } };
    const opened = fakeOpen({ declared: [declare('things', 'index')], commands: COMMANDS, kernel, targets });
    const { out } = await cli(['things', 'list', '--all', '--no-things'], { openKernel: opened });
    expect(out).toBe((await cli(['things', 'list', '--all'], { openKernel: openKernel() })).out);
    expect(targets[0]?.switches).toEqual(['all', 'no-things']);
    expect((await cli(['things', '--no-things', 'list', '--all'], { openKernel: opened })).out).toBe(out);
    targets.pop();
    await cli(['things', 'list', '--no-things', '--', '--no-words'], { openKernel: opened });
    expect(targets[1]?.switches).toEqual(['no-things']);
  });

  it('prints only JSON on the output under --json, wherever it stands', async () => {
    for (const line of ['things list --json', '--json things list'])
      expect(await cli(line.split(' '), { openKernel: openKernel() })).toEqual({ code: 0, out: '["a thing"]\n', err: '' });
  });
});

describe('help', () => {
  it('U31 lists at most twelve commands on one screen, and with --all every one', async () => {
    const declared = Array.from({ length: 20 }, (_, at) => ({ ...declare(`more${at}`, 'index'), first: 20 + at }));
    const first = await cli(['--help'], { openKernel: fakeOpen({ declared: [{ ...declare('chat', 'started'), first: 1 }, ...declared] }) });
    const lines = first.out.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    const listed = lines.slice(lines.indexOf('Commands:') + 1, lines.indexOf('', lines.indexOf('Commands:')));
    expect(listed.map((line) => line.trim().split(' ')[0])).toEqual(
      'chat doctor init agents threads approvals extensions trust more0 more1 more2 more3'.split(' '),
    );
    for (const words of [['help'], ['-h'], ['--help']])
      expect((await cli(words, { openKernel: openKernel() })).out).toBe((await cli(['--help'], { openKernel: openKernel() })).out);
    expect((await cli(['--help', '--all'], { openKernel: openKernel() })).out).toBe(
      (await cli(['help', '--all'], { openKernel: openKernel() })).out,
    );
  });

  it('U31 U41 says of a command what it takes also as help COMMAND, and the version of package.json with -v', async () => {
    const asOption = await cli(['things', 'list', '--help'], { openKernel: openKernel() });
    expect(await cli(['help', 'things', 'list'], { openKernel: openKernel() })).toEqual(asOption);
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    for (const word of ['-v', '-V', '--version']) expect((await cli([word])).out).toBe(`${version}\n`);
  });

  it('U31 lists a large group with --all by its names, and all of it with help GROUP', async () => {
    const paths = ['many', ...['five', 'four', 'one', 'three', 'two sub'].map((name) => `many ${name}`)];
    const opened = () => fakeOpen({ declared: paths.map((each) => declare(each, 'index')) });
    const { out } = await cli(['help', '--all'], { openKernel: opened() });
    expect(out).toMatch(/^ {2}many … +five, four, one, three, two sub$/mu);
    expect(out).not.toContain('many four');
    expect((await cli(['help', 'many'], { openKernel: opened() })).out).toMatch(/^ {2}many four +Does many four$/mu);
  });

  it('U31 leaves out what is for programs', async () => {
    const below = await cli(['help', 'things'], { openKernel: openKernel() });
    expect(below.out).toContain('things sum');
    expect(below.out).not.toContain('probe');
  });

  it('comes from the definitions: all, a group, a command of the kernel, one of an extension', async () => {
    const all = await cli(['help', '--all'], { openKernel: openKernel() });
    expect(all.code).toBe(0);
    for (const line of [
      /^ {2}agents list +List the agents$/mu,
      /^ {2}things list +List things$/mu, // by its code, which says more than the manifest
      /^ {2}bundles make +Does bundles make$/mu,
      /^ {2}init \[dir\] +Make a new sandbox/mu,
      /--sandbox <sandbox>/u,
    ])
      expect(all.out).toMatch(line);
    expect((await cli(['agents', '--help'], { openKernel: openKernel() })).out).toMatch(/^ {2}agents prompt <id>/mu);
    const prompt = await cli(['agents', 'prompt', '-h'], { openKernel: openKernel() });
    expect(prompt.out).toContain('Usage: pith agents prompt <id> [--text <text>]');
    expect((await cli(['things', '--help'], { openKernel: openKernel() })).out).toMatch(/^ {2}things show <id> +Show a thing$/mu);
    const split = fakeOpen({ declared: [declare('things', 'index'), declare('things count', 'initialized')], commands: COMMANDS });
    expect((await cli(['things', '--help'], { openKernel: split })).out).toMatch(
      /^ {2}things count +Does things count$[^]*^ {2}things show/mu,
    );
    const both = [...COMMANDS, { path: 'things list all', description: 'List every thing', run: async () => 0 }];
    const { out: group } = await cli(['things', 'list', '--help'], {
      openKernel: fakeOpen({ declared: [declare('things', 'index')], commands: both }),
    });
    expect(group).toMatch(/Usage: pith things list \[--all\]\n\nCommands:\n {2}things list all +List every thing\n\n/u);
    const log: string[] = [];
    expect((await cli(['things', 'list', '--help'], { openKernel: openKernel(log) })).out).toContain('Usage: pith things list [--all]');
    expect(log).not.toContain('activate sample');
  });

  it.each(['EMFILE', 'ENFILE'])('K7 says how to mend that no more files can be opened (%s)', async (code) => {
    const error = Object.assign(new Error(`${code}: too many open files, open '/a'`), { code });
    for (const failure of [error, new Error(`main.ts could not be imported: ${error.message}`, { cause: error })]) {
      const { err } = await cli(['doctor'], { openKernel: () => Promise.reject(failure) });
      expect(err).toBe(`pith: ${failure.message}; allow more open files, such as with \`ulimit -n 1024\`\n`);
    }
  });

  it('helps also where the sandbox is broken', async () => {
    const help = await cli(['help', '--all'], { openKernel: () => Promise.reject(new Error('the index is torn')) });
    expect(help).toMatchObject({ code: 0, err: 'pith: the index is torn\n' });
    expect(help.out).toContain('agents list');
  });
});
