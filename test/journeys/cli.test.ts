import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DoctorReport } from '../../core/compose/index.ts';
import { pithHere } from './pith-here.ts';
import { linesOf, projectFolder, runPith, startPith, type Folder } from './pith-process.ts';
import { agentFile, bare, extensionFiles, skillFile, toolExtension } from './sandbox-files.ts';
import { ownFolder, ownServer, type OwnServer } from './until-test-ends.ts';
import { within } from '../waiting.ts';
import { words } from '../words.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await projectFolder({
    'skills/gamma/SKILL.md': skillFile('gamma', 'Reads gamma logs, units and outliers.', 'Gamma logs are in sievert.'),
    'skills/broken/SKILL.md': '# No frontmatter\n',
    'agents/writer/manifest.yaml': agentFile('writer', {
      uses_tools: ['skill_registry', 'morning'],
      uses_skills: ['gamma'],
      instructions: 'You write.',
    }),
    ...toolExtension('morning', 'dawn', "({ light: 'grey' })"),
  });
});
afterAll(() => folder.remove());

const here = (...argv: string[]) => pithHere(argv, { cwd: folder.path });
describe('pith chat on a pipe', () => {
  let server: OwnServer;
  const chat = (input: string, ...argv: string[]) => pithHere(['chat', '--lines', ...argv], { cwd: folder.path, env: server.env, input });
  beforeEach(async () => void (server = await ownServer()));

  it('answers one message a line, in one conversation, with nothing but answers on the output', async () => {
    server.script({ text: 'first answer' }, { text: 'second answer' });
    const { code, out, err } = await runPith(['chat', '--lines'], { cwd: folder.path, env: server.env, input: 'one\n\ntwo' });
    expect([code, err]).toEqual([0, expect.stringMatching(/^pith: skill 'broken' sandbox\/skills\/broken\/SKILL\.md:1: [^\n]+\n$/u)]);
    expect(out).toBe('first answer\nsecond answer\n');
    expect(server.requests.at(-1)!.body.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  });

  it('use.md 3: a typo takes no more than its key, and is said where a person looks', async () => {
    const typos = await ownFolder({
      'pith.yaml': 'default_agnt: x\nskills:\n  max_skill: 4\n  disabled: slipp, helo\nproviders:\n  openai:\n    base_ulr: x\n',
      'skills/slip/SKILL.md': '---\nname: slip\ndescripton: x\nargument-hint: x\n---\nDo it.\n',
      'extensions/broken/manifest.yaml': 'id: broken\nentrypoint: main.ts\nprovids: [tool]\n',
      'extensions/broken/main.ts': 'export default class {}\n',
    });
    const { code, out, err } = await pithHere(['chat', '-p', 'hello'], {
      cwd: typos.path,
      env: { ...server.env, PITH_MODEL: 'offline/librarian' },
    });
    expect(code).toBe(0);
    expect(out).toContain('code-review'); // the skills are there
    expect(err).toContain("pith: sandbox/pith.yaml:1: unknown key 'default_agnt' is ignored (did you mean 'default_agent'?)\n");
    expect(err).toContain(
      "pith: sandbox/pith.yaml:3: unknown key 'max_skill' in 'skills' is ignored (did you mean 'max_skills'?); correct the setting\n",
    );
    expect(err).toContain(
      "pith: the extension 'broken' cannot run sandbox/extensions/broken/manifest.yaml:3: unknown key 'provids' (did you mean 'provides'?)",
    );
    expect(err).toMatch(/^pith: \S+\/slip\/SKILL\.md:3: skill 'slip' has the unknown key 'descripton'.* \(did you mean 'description'\?/mu);
    expect(err).not.toContain('argument-hint');
    for (const slip of [/max_skill'/gu, /base_ulr/gu]) expect(err.match(slip)).toHaveLength(1);
    expect(err).toContain("pith.yaml:7: unknown key 'base_ulr' in 'providers.openai' is ignored (did you mean 'base_url'?)");
    expect(err).toContain("'skills.disabled' must be a list, such as [a, b]; it counts as one, split at commas");
    expect(err).toContain("pith: skills.disabled names 'slipp', which no source has; it counts as 'slip'");
    expect((await pithHere(['skills', 'list', '--json'], { cwd: typos.path })).out).toContain('code-review');
  });

  it('use.md 3: -p says each mistake once, where it was made, and none that a person made of what ships', async () => {
    const typos = await ownFolder({
      'pith.yaml': 'models: { default: nope }\nextensions: { kvv: { enabled: false } }\nskills:\n  allowed: [only]\n  poll_seconds: x\n',
      'skills/only/SKILL.md': '---\nname: only\ndescription: x\n---\nDo it.\n',
      'agents/off/manifest.yaml': 'id: off\nenabld: false\nagent: {}\n',
      'agents/broken/manifest.yaml': 'id: broken\nagent: { limits: { max_turns: many } }\n',
      'agents/chief/manifest.yaml': 'id: chief\nagent:\n  delegates_to: [broken]\n',
    });
    const run = (...argv: string[]) => pithHere(argv, { cwd: typos.path });
    const { code, err } = await run('chat', '-p', 'hello');
    expect(code).toBe(1);
    expect(err.match(/'nope' does not name a model/gu)).toHaveLength(1);
    expect(err).toContain("pith: sandbox/agents/off/manifest.yaml:2: 'enabld' must be written 'enabled'; it counts as that");
    expect(err).toContain("nothing declares 'kvv'; its 'enabled' counts for 'kv'");
    expect(err).toContain("'skills.poll_seconds' must be a number, not a string (ignored); correct the setting");
    expect(err).not.toContain('builder_agent');
    const failed = await run('chat', '-p', 'hello', '-a', 'broken');
    expect([failed.code, failed.err.match(/the agent 'broken' cannot run/gu)]).toEqual([1, ["the agent 'broken' cannot run"]]);
    const { agents, extensions } = JSON.parse((await run('doctor', '--json')).out) as DoctorReport;
    expect(agents.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'broken failed',
      'builder_agent degraded',
      'chief degraded',
      'orchestrator active',
    ]);
    expect(agents[2]!.message).toMatch(
      /^cannot delegate to 'broken': 'agent.limits.max_turns' must be a number, not a string \(\S+:2\); correct the value$/u,
    );
    expect(extensions.find(({ id }) => id === 'kv')).toMatchObject({ state: 'disabled' });
  });

  it.each([
    [['doctor'], 'SIGINT', 130],
    [['chat', '-p', 'hi'], 'SIGTERM', 143],
  ] as const)('pith %s ends at once at a signal while an extension hangs', async (argv, signal, code) => {
    const slow = await ownFolder({
      ...bare(['slow', 'cli_channel']),
      'extensions/slow/manifest.yaml': 'id: slow\nversion: 1.0.0\ndescription: Hangs.\nentrypoint: main.ts\nprovides: [tool]\n',
      'extensions/slow/main.ts':
        "export default class {\n  initialize() { process.stdout.write('hanging'); return new Promise(() => {}); }\n  getTools() { return []; }\n}\n",
    });
    const { child, ended, out } = startPith(argv, { cwd: slow.path });
    try {
      await expect.poll(out).toBe('hanging');
      child.kill(signal);
      expect(await within(5000, ended)).toEqual({ code, signal: null, out: 'hanging', err: '' });
    } finally {
      child.kill('SIGKILL');
    }
  });

  it.each(['doctor', 'skills list --quiet', 'chat -p hi', '--help', '--version'])(
    'pith %s fails where its output cannot be written',
    async (words) => {
      const place = await ownFolder({
        ...bare(['cli_channel', 'offline', 'skill_registry'], { default_agent: 'plain' }),
        'agents/plain/manifest.yaml': agentFile('plain'),
      });
      const failed = await promisify(execFile)(
        '/bin/sh',
        ['-c', `exec "$0" "$1" ${words} > /dev/full`, process.execPath, path.resolve('bin/pith')],
        { cwd: place.path, env: { PATH: process.env['PATH'], HOME: place.path, PITH_TRUST: '1' } },
      ).catch((error: unknown) => error);
      expect(failed).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^(?:nothing came on standard input.*\n)?(?:✓ .*\n)?pith: standard output cannot be written: ENOSPC[^\n]*\n$/u,
        ),
      });
    },
  );

  it('-p says one message and leaves; steps stand on the error stream', async () => {
    server.script({ calls: [{ name: 'dawn', input: {} }] }, { text: 'It is grey.' });
    const { code, out, err } = await chat('', '-a', 'writer', '-p', 'what is the light like?');
    expect(code).toBe(0);
    expect(out).toBe('It is grey.\n');
    expect(err).toMatch(/✓ .*dawn/u);
  });

  it('--json prints one event a line, in the shape that is public', async () => {
    const calls = [
      { id: 'call_a', name: 'dawn', input: {} },
      { id: 'call_b', name: 'read_skill', input: { skill_id: 'nothing-here' } },
    ];
    server.script({ text: 'Let me see.', calls }, { text: 'Grey.' });
    const { code, out } = await chat('', '-p', 'light?', '--json', '--thread', 'pinned');
    expect(code).toBe(0);
    const events = linesOf(out);
    const of = (type: string) => events.filter((event) => event['type'] === type);
    expect(events[0]).toEqual({ type: 'turn-start', agent: 'orchestrator', thread: 'pinned', model: 'openai/test' });
    const deltas = of('text-delta');
    for (const delta of deltas) expect(delta).toEqual({ type: 'text-delta', text: expect.any(String) as string });
    expect(deltas.map(({ text }) => text).join('')).toBe('Let me see.Grey.');
    expect(of('tool-call')).toEqual(calls.map((call) => ({ type: 'tool-call', ...call })));
    const result = (id: string) => of('tool-result').find((event) => event['id'] === id);
    const at = expect.any(Number) as number;
    expect(result('call_a')).toEqual({ type: 'tool-result', id: 'call_a', name: 'dawn', ok: true, at, output: { light: 'grey' } });
    const error = { code: 'skill_not_found', message: expect.any(String) as string };
    expect(result('call_b')).toMatchObject({ type: 'tool-result', name: 'read_skill', ok: false, at, error });
    const usage = { inputTokens: 20, outputTokens: 10 };
    expect(events.at(-1)).toEqual({ type: 'turn-end', reason: 'done', text: expect.stringContaining('Grey.'), usage });
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['turn-start', 'text-delta', 'tool-call', 'tool-result', 'turn-end']));
  });

  it('a failed turn is told on the error stream and in the exit code', async () => {
    server.script({ status: 401, error: { message: 'Incorrect API key provided' } });
    const plain = await chat('', '-p', 'hello');
    expect([plain.code, plain.out]).toEqual([1, '']);
    expect(plain.err).toMatch(/OPENAI_API_KEY/u);
    expect(plain.err).not.toContain('sk-test');
    server.script({ status: 401, error: { message: 'Incorrect API key provided' } });
    const { code, out } = await chat('', '-p', 'hello', '--json');
    expect([code, linesOf(out).at(-1)]).toEqual([
      1,
      expect.objectContaining({ type: 'turn-end', reason: 'error', error: { code: 'model_auth', message: expect.any(String) } }),
    ]);
  });

  it('a conversation that lasts is logged while it lasts', async () => {
    server.script({ text: 'one' });
    const place = await ownFolder({
      ...bare(['cli_channel', 'openai_compatible', 'stumbles']),
      ...extensionFiles('stumbles', { provides: ['tool'], main: "throw new Error('stumbled');\n" }),
    });
    const log = path.join(place.sandbox, 'data/logs/pith.log');
    const child = startPith(['chat', '--lines'], { cwd: place.path, env: server.env, input: null });
    child.child.stdin.write('hello\n');
    await expect.poll(() => (existsSync(log) ? readFileSync(log, 'utf8') : '')).toContain('stumbled');
    expect(child.child.exitCode).toBe(null);
    child.child.stdin.end();
    expect(await child.ended).toMatchObject({ code: 0, out: 'one\n' });
  });

  it('K47 slash commands answer in a conversation', async () => {
    server.script({ text: 'ok' });
    const typed =
      'hello|/compact|/help all|/agents|/agent writer|/skills|/tools|/context --full|/new|/threads|/approvals|/doctor|/model|/quit';
    const { out } = await chat(typed.replaceAll('|', '\n'));
    for (const name of words('agents agent skills tools context compact new threads approvals doctor model'))
      expect(out).toMatch(new RegExp(`^ *\\/${name}\\b`, 'mu'));
    expect(out).toMatch(/writer +active/u);
    expect(out).toMatch(/gamma +offered/u);
    expect(out).toMatch(/dawn +always +morning/u);
    expect(out).toContain('You write.');
    expect(out).toMatch(/skill gamma +\d+/u);
    expect(out).toMatch(/total +\d+/u);
    expect(out).toContain('openai/test');
  });
});

describe('commands with --json', () => {
  it('doctor, with exit code 1 for a broken skill', async () => {
    const { code, out } = await here('doctor', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      model: { ref: 'offline/librarian', why: expect.any(String) },
      extensions: expect.arrayContaining([expect.objectContaining({ id: 'morning', state: 'active', tier: 'process', notes: [] })]),
      agents: expect.arrayContaining([expect.objectContaining({ id: 'writer', state: 'active' })]),
      skills: { offered: expect.any(Number), invalid: 1 },
    });
  });
});

describe('the command line itself', () => {
  it('G9 pith init makes a sandbox that chats and is healthy; its agent and the orchestrator carry at most 2,500 tokens of tools', async () => {
    const place = await ownFolder();
    const run = (...argv: string[]) => pithHere(argv, { cwd: place.path });
    expect((await run('init', 'mine')).code).toBe(0);
    const sandbox = ['mine', 'mine/sandbox']
      .map((name) => path.join(place.path, name))
      .find((name) => execFileSync('ls', [name]).includes('pith.yaml'))!;
    const input = '/doctor\ngreet Ada\n/skills list\n';
    const { code, out, err } = await pithHere(['chat', '--lines', '--sandbox', sandbox], { cwd: place.path, input });
    expect([code, err], out).toEqual([0, expect.stringMatching(/^(?:✓ .*\n)+$/u)]);
    expect(out).toMatch(/All is well.*hello.*hello +offered/su);
    expect((await run('init', 'mine')).code).toBe(2);
    for (const agent of ['assistant', 'orchestrator']) {
      const prompt = await pithHere(['agents', 'prompt', agent, '--text', 'hi', '--json', '--sandbox', sandbox], { cwd: place.path });
      const { tools } = JSON.parse(prompt.out) as { tools: readonly { readonly name: string; readonly description: string }[] };
      const names = tools.map(({ name }) => name);
      expect(names, agent).toEqual(expect.arrayContaining(['hello', 'edit_file', 'shell', 'read_skill', 'web_fetch', 'find_tools']));
      expect(names.join(' '), agent).not.toMatch(/complete_task|stage_|activate_|submit_|schedule_|configure_/);
      expect(tools.find(({ name }) => name === 'find_tools')?.description, agent).toMatch(/schedule_once.*skill_invoke.*submit_task/);
      expect(countTokens(JSON.stringify(tools)), agent).toBeLessThanOrEqual(2500);
    }
  });

  const COLOURED = ['extensions', 'list'];

  it('no colours on a pipe', async () => {
    for (const argv of [['skills', 'list'], ['--help']]) expect((await here(...argv)).out).not.toContain('\u001B');
    expect((await runPith(COLOURED, { cwd: folder.path })).out).not.toContain('\u001B');
  });

  it.runIf(existsSync('/usr/bin/script'))('NO_COLOR is respected on a terminal', () => {
    const output = (more: Record<string, string>) =>
      execFileSync('script', ['-qec', `${process.execPath} ${path.resolve('bin/pith')} ${COLOURED.join(' ')}`, '/dev/null'], {
        cwd: folder.path,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], HOME: folder.path, PITH_TRUST: '1', TERM: 'xterm-256color', ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 30_000,
      });
    const colour = '\u001B[3';
    expect(output({})).toContain(colour);
    expect(output({ NO_COLOR: '1' })).not.toContain(colour);
  });
});
