import { cp, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { shippedSandbox } from '../../../core/declarations/index.ts';
import { openKernel } from '../../../core/cli/index.ts';
import { openDatabase } from '../../../core/store/index.ts';
import { cli } from './fakes.ts';
import { linesOf } from '../../journeys/pith-process.ts';
import { folderWith, writeFiles } from '../../places.ts';

let folder: string;
beforeEach(async () => {
  folder = folderWith();
  await cli(['init'], { cwd: folder });
});

const run = (...argv: string[]) => cli(argv, { cwd: folder, openKernel });
/** A file of the sandbox, by its whole path. */
const write = (file: string, text: string) => {
  writeFiles(path.join(folder, 'sandbox'), { [file]: text });
  return path.join(folder, 'sandbox', file);
};

const THROWING = `import { defineTool, z } from 'pith';

export default class {
  getTools() {
    const execute = (): string => {
      throw new Error('no greeting today');
    };
    return [defineTool({ name: 'hello', description: 'Greets.', input: z.object({}), effect: 'read', execute })];
  }
}
`;

describe('a new sandbox with the real kernel', () => {
  it('has its own agent as the default, and the commands of the extensions that ship', async () => {
    const agents = await run('agents', 'list', '--json');
    expect(agents).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(agents.out)).toContainEqual(expect.objectContaining({ id: 'assistant', state: 'active', default: true }));
    const { out } = await run('--help');
    expect(out).toMatch(/^ {2}chat {2,}Talk to an agent/mu);
    // U31
    expect(out.trimEnd().split('\n').length).toBeLessThanOrEqual(24);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(out.slice(out.indexOf('Commands:')).match(/^ {2}\S/gmu)).toHaveLength(12);
  });

  it('calls the tool of its own extension as its agent would', async () => {
    expect(await run('tools', 'call', 'hello', '--input', '{"name":"Ada"}', '--json')).toEqual({
      code: 0,
      out: '{"ok":true,"output":"Hello, Ada! Welcome to Pith."}\n',
      err: '',
    });
    expect(await run('tools', 'call', 'helo', '--json')).toMatchObject({ code: 1, out: expect.stringContaining('"code":"tool_unknown"') });
  });

  it('K44 names the nearest agent, thread and extension for an unknown one', async () => {
    await run('chat', '-p', 'hi', '--thread', 't1');
    expect(await run('agents', 'show', 'asistant')).toEqual({
      code: 1,
      out: '',
      err: "pith: no agent 'asistant': nothing declares it (did you mean 'assistant'?); see: pith agents list\n",
    });
    expect((await run('extensions', 'show', 'vk')).err).toContain("did you mean 'kv'?");
    expect((await run('mcp', 'lgoin')).err).toBe("pith: unknown command 'mcp lgoin' (did you mean 'mcp login' or 'mcp logout'?)\n");
    expect((await run('threads', 'show', 't2')).err).toContain("did you mean 't1'?");
  });

  it.each([['chat', '--no-skils', '-p', 'hi'], ['doctor', '--no-skils'], ['--no-skils']])(
    'names the nearest option for %s %s, also one that an extension declares',
    async (...argv) => {
      expect(await run(...argv)).toMatchObject({ code: 2, err: expect.stringContaining("did you mean '--no-skills'?") });
    },
  );

  it('U30 says what is missing where there is neither a command nor a message', async () => {
    const err = 'pith: there is no message: standard input is empty; write: pith "your message", or see: pith --help\n';
    for (const argv of [[], ['--no-skills'], ['--json']]) expect(await run(...argv)).toEqual({ code: 2, out: '', err });
  });

  it('U30 answers a message without a command, with what is piped in', async () => {
    const ran = await cli(['--json', 'brainstorming ideas please'], { cwd: folder, openKernel, input: 'names of boats\n' });
    expect(ran).toMatchObject({ code: 0, err: '' });
    const events = linesOf(ran.out);
    expect(events.map(({ type }) => type)).toContain('turn-end');
    const id = String(events[0]?.['thread']);
    expect((await run('threads', 'export', id)).out).toContain('<attachment name="stdin">\nnames of boats\n\n</attachment>');
    // What was put beside a message is not what the person wrote.
    const shown = JSON.parse((await run('threads', 'show', id, '--json')).out) as { messages: { text: string }[] };
    expect(shown.messages[0]?.text).toBe('brainstorming ideas please');
    const [planned] = linesOf((await run('--plan', 'brainstorming ideas please', '--json')).out);
    expect((await run('threads', 'show', String(planned?.['thread']))).out).toMatch(/^user 1: brainstorming ideas please\n/u);
  });

  it('use.md LOW: a secret that is not stored is not said to be removed', async () => {
    expect(await run('secrets', 'remove', 'OPENAI_API_KEY')).toEqual({
      code: 1,
      out: '',
      err: "pith: no secret 'OPENAI_API_KEY' is stored: there is nothing to remove; see: pith secrets list\n",
    });
  });

  it('use.md 3: one wrong setting is said on the error stream, also under --json and for what the setting does not concern', async () => {
    write('pith.yaml', 'default_agent: assistant\nskills:\n  max_skills: many\n');
    for (const argv of [['-p', 'hi'], ['--json', '-p', 'hi'], ['hello there']]) {
      const { code, err } = await run(...argv);
      expect({ code, err: err.split('\n')[0] }).toEqual({
        code: 0,
        err: "pith: sandbox/pith.yaml:3: 'skills.max_skills' must be a number, not a string (ignored); correct the setting",
      });
    }
  });

  it('U30 renames, exports and deletes a conversation', async () => {
    await run('chat', '-p', 'brainstorming for boats', '--thread', 't1');
    await run('chat', '-p', 'hello', '--thread', 't2');
    expect(await run('threads', 'rename', 't1', 'Names', 'of boats')).toEqual({ code: 0, out: 'Renamed t1: Names of boats\n', err: '' });
    await run('chat', '-p', 'more brainstorming', '--thread', 't1');
    const listed = JSON.parse((await run('threads', '--json')).out) as { id: string; title: string }[];
    expect(listed.map(({ id, title }) => [id, title])).toEqual([
      ['t1', 'Names of boats'],
      ['t2', 'hello'],
    ]);

    const { out } = await cli(['threads', 'export', 't1'], { cwd: folder, openKernel, input: 'x' });
    expect(out).toMatch(
      /^# Names of boats\n\nConversation t1 with assistant, \d{4}-\d\d-\d\d\n\n## User\n\nbrainstorming for boats\n\n## Assistant\n/u,
    );
    expect(out).toContain('called `list_skills`');
    const json = JSON.parse((await run('threads', 'export', 't1', '--json')).out) as { title: string; messages: { role: string }[] };
    expect(json).toMatchObject({ id: 't1', title: 'Names of boats' });
    expect(new Set(json.messages.map(({ role }) => role))).toEqual(new Set(['user', 'assistant', 'tool']));
    const file = path.join(folder, 'talk.json');
    expect(await run('threads', 'export', 't1', '-o', 'talk.json')).toMatchObject({ code: 0, out: `Wrote ${file}\n` });
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(json);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await run('threads', 'export', 't1', '-o', 'talk.md');
    expect(await readFile(path.join(folder, 'talk.md'), 'utf8')).toBe(out);
    const nowhere = await run('threads', 'export', 't1', '-o', 'no/where.md');
    expect(nowhere).toMatchObject({ code: 1, err: expect.stringContaining('name another file with -o') });

    expect(await run('threads', 'delete', 't1')).toMatchObject({ code: 2, err: expect.stringContaining('pith threads delete t1 --yes') });
    expect(await run('threads', 'delete', 't1', '--yes')).toEqual({ code: 0, out: 'Deleted t1\n', err: '' });
    expect((await run('threads', 'delete', 't1', '--yes')).err).toContain("no thread 't1'");
    expect((JSON.parse((await run('threads', '--json')).out) as { id: string }[]).map(({ id }) => id)).toEqual(['t2']);
  });

  it('names the nearest extension where a secret is to be given to one that is not there', async () => {
    const err = expect.stringContaining("no extension 'embeding': nothing declares it (did you mean 'embedding'?)");
    for (const how of ['set', 'allow'])
      expect(await run('secrets', how, 'OPENAI_API_KEY', '--for', 'extension:embeding')).toMatchObject({ code: 1, err });
  });

  it('doctor says of settings that are no YAML where that begins, and nothing that follows from it', async () => {
    write('agents/assistant/manifest.yaml', 'id: assistant\nname: A\nversion: 1.0.0\nagent: { model: smart }\n');
    write('pith.yaml', 'models: { smart: offline }\nextensions:\n  kv: [\n  mcp: : x\nskills: {}\n');
    const { code, out } = await run('doctor');
    expect(code).toBe(1);
    expect(out.match(/pith\.yaml|smart/gu)).toEqual(['pith.yaml']);
    expect(out).toContain('pith.yaml:4: is not valid YAML');
  });

  it('K7 reads relative paths of the environment from where it was called', async () => {
    const at = (file: string) => path.join(folder, 'state', file);
    const called = (...argv: string[]) => cli(argv, { cwd: folder, openKernel, env: { PITH_DATA_DIR: 'state' } });
    await called('skills', 'list');
    await expect(stat(at('.cache/index.json'))).resolves.toBeTruthy();
    await rm(at(''), { recursive: true });
    await called('agents', 'list');
    await expect(stat(at('.cache/index.json'))).resolves.toBeTruthy();
  });

  it('names the extension of a command that throws', async () => {
    write(
      'extensions/teller/manifest.yaml',
      'id: teller\nname: T\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [command]\ncommands:\n  - { path: tell, needs: initialized, description: Tells }\n',
    );
    write(
      'extensions/teller/main.ts',
      "export default class {\n  getCommands() {\n    return [{ path: 'tell', description: 'Tells', run: async () => { throw new TypeError('boom'); } }];\n  }\n}\n",
    );
    const { code, err } = await run('tell');
    expect(code).toBe(1);
    expect(err).toMatch(/^pith: the command 'tell' of the extension 'teller' failed(?: in \S*teller\/main\.ts:3)?: boom; /u);
    write('extensions/teller/main.ts', "export default class {\n  getCommands() {\n    throw new TypeError('boom');\n  }\n}\n");
    expect((await run('tell')).err).toMatch(/^pith: the commands of the extension 'teller' failed.*: boom; /u);
  });

  it('S10 lists what ships also when the registry is a copy in the sandbox', async () => {
    const [from, to] = [shippedSandbox(), path.join(folder, 'sandbox')].map((at) => path.join(at, 'extensions/skill_registry'));
    await cp(from!, to!, { recursive: true });
    const ran = await run('skills', 'list', '--json');
    expect(ran).toMatchObject({ code: 0, err: '' });
    const ids = (JSON.parse(ran.out) as { id: string }[]).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['extension-development', 'hello']));
  });

  it('S82 explains a skill for an agent wherever the settings let it be found', async () => {
    write('../team/scout/AGENT.md', '---\nname: scout\nallow_skills: false\n---\nYou scout.\n');
    write('agents/broken/manifest.yaml', 'id: broken\nagnet: {}\n');
    const env = { PITH_AGENTS_PATHS: path.join(folder, 'team') };
    const explain = (agent: string) => cli(['skills', 'explain', 'hello', '--agent', agent, '--json'], { cwd: folder, env, openKernel });
    const scout = await explain('scout');
    expect(scout).toMatchObject({ code: 0, err: '' });
    const catalog = { agent: 'scout', offered: false, why: expect.stringContaining('skills.mode') };
    expect(JSON.parse(scout.out)).toMatchObject({ catalog });
    expect((await explain('assistant')).out).toContain('"offered":true');
    expect((await explain('broken')).err).toMatch(/^pith: the agent 'broken' cannot run \S+manifest\.yaml:2: unknown key 'agnet'/u); // N15: with the reason
  });

  it('shows with an agent what its lists of skills name wrongly', async () => {
    const agent = write('agents/denying/manifest.yaml', 'id: denying\nagent: { skills: { deny: [debuging] } }\n');
    const ran = await run('agents', 'show', 'denying');
    expect(ran.out).toContain(`${agent}: agent 'denying': skills.deny names 'debuging'`);
  });
});

describe("the kernel's own commands with the real kernel", () => {
  const json = async (...argv: string[]): Promise<unknown> => JSON.parse((await run(...argv, '--json')).out);

  it('agents list', async () => {
    const file = write('agents/odd/manifest.yaml', 'id: odd\nname: Odd\ncolour: [x]\n');
    const agents = await json('agents', 'list');
    expect(agents).toContainEqual({
      id: 'assistant',
      name: 'Assistant',
      description: expect.any(String),
      state: 'active',
      default: true,
      model: 'default',
      uses_tools: expect.arrayContaining(['project_tools', 'skill_scripts/run_skill_script']),
      finds_tools: ['*'],
      uses_skills: [],
      delegates_to: [],
      limits: { max_turns: 20, max_tool_calls: 60, max_tokens: 200_000, time_budget_ms: 300_000 },
      file: path.join(folder, 'sandbox/agents/assistant/manifest.yaml'),
      diagnostics: [],
    });
    const finding = expect.objectContaining({ severity: 'error', code: 'unknown_key', file, line: 3 });
    expect(agents).toContainEqual(expect.objectContaining({ id: 'odd', state: 'failed', default: false, diagnostics: [finding] }));
    const { out } = await run('agents', 'list');
    expect(out).toMatch(/^AGENT {2,}STATE {2,}MODEL {2,}DESCRIPTION\nassistant \* {2,}active {2,}default {2,}Answers /u);
    expect(out).toMatch(/\nodd {2,}failed {2,}unknown key 'colour'\n/u);
    expect(out).toContain('\n\n* answers when no agent is named\n');
  });

  it('agents prompt: {system, messages, tools, tokens}, and the exact prompt as text', async () => {
    type Prompt = { system: string; tools: { name: string; description: string; inputSchema: unknown }[] };
    const prompt = (await json('agents', 'prompt', 'assistant', '--text', 'Hi')) as Prompt;
    const part = { name: 'cli_channel', tokens: expect.any(Number), extensionId: 'cli_channel', isOfMessage: false };
    expect(prompt).toEqual({
      model: { ref: 'offline/librarian', contextWindow: null },
      system: expect.stringMatching(/^You are Assistant/u),
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      tools: expect.arrayContaining([{ name: 'hello', description: 'Makes a greeting for a person.', inputSchema: expect.any(Object) }]),
      tokens: { total: expect.any(Number), parts: expect.arrayContaining([part]) },
    });
    const tools = prompt.tools.map((tool) => `${tool.name}: ${tool.description}\n${JSON.stringify(tool.inputSchema)}\n`);
    const { out } = await run('agents', 'prompt', 'assistant', '--text', 'Hi', '--quiet');
    expect(out).toBe(`── system ──\n${prompt.system}\n── user ──\nHi\n── tools ──\n${tools.join('')}`);
  });

  it('tools list, cut to the terminal and in a pipe to nothing; tools call', async () => {
    expect(await json('tools', 'list')).toContainEqual({
      name: 'hello',
      extension: 'hello_tool',
      onDemand: false,
      description: 'Makes a greeting for a person.',
      effect: 'read',
      needsApproval: 'never',
      inputSchema: expect.objectContaining({ type: 'object' }),
    });
    const shown = await cli(['tools', 'list'], { cwd: folder, openKernel, terminal: true, env: { NO_COLOR: '1' } });
    const lines = shown.out.split('\n');
    expect(lines[3]).toMatch(/^ {4}.{72,76}…?$/u); // the description, below its row; a space before the cut goes, too
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect((await run('tools', 'list')).out.split('\n')[1]?.length).toBeGreaterThan(200);
    expect(await run('tools', 'call', 'helo')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^pith: helo: .* has no tool 'helo'.*\(tool_unknown\)\n$/u),
    });
    expect(await run('tools', 'call', 'hello', '--input', '{a}')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^pith: --input is not JSON; write it as: --input/u),
    });
    const main = write('extensions/hello_tool/main.ts', THROWING);
    expect((await run('tools', 'call', 'hello')).err).toBe(`pith: hello: no greeting today (tool_failed at ${main}:6)\n`);
  });

  it('extensions list, show and reload; doctor names what failed', async () => {
    const manifest = 'name: B\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [tool]\n';
    write('extensions/crooked/manifest.yaml', `id: crooked\n${manifest}`);
    const file = write('extensions/crooked/main.ts', '\n\nexport default clas {\n');
    write('extensions/broken/manifest.yaml', `id: broken\n${manifest}isolation: nowhere\n`);
    const broken = { id: 'broken', state: 'failed', phase: expect.any(String), code: expect.any(String), line: 6 };
    const extensions = await json('extensions', 'list');
    expect(extensions).toContainEqual(expect.objectContaining({ id: 'hello_tool', state: 'idle', provides: ['tool'] }));
    expect(extensions).toContainEqual(expect.objectContaining(broken));
    expect((await run('extensions', 'show', 'broken')).code).toBe(1);
    expect(await run('extensions', 'reload', 'hello_tool')).toMatchObject({ code: 0, out: 'Reloaded hello_tool\n' });
    const reason = { state: 'failed', code: 'bundle_failed', file, line: 3 };
    expect(await json('extensions', 'reload', 'crooked')).toMatchObject({ ok: false, ...reason });
    const err = expect.stringContaining(`pith: crooked was not reloaded: ${file}:3: `);
    expect(await run('extensions', 'reload', 'crooked')).toMatchObject({ code: 1, out: '', err });
    const failed = { id: 'crooked', phase: 'bundle', ...reason, cure: expect.any(String) };
    expect(await json('doctor')).toMatchObject({ ok: false, extensions: expect.arrayContaining([expect.objectContaining(failed)]) });
  });

  it('threads list, show and compact; approvals', async () => {
    await run('chat', '-p', 'greet Ada');
    const [thread] = (await json('threads', 'list')) as { id: string }[];
    const id = thread!.id;
    const times = { date: expect.any(String), updatedAt: expect.any(Number) };
    const listed = { id, agentId: 'assistant', title: 'greet Ada', compactions: 0, branchOf: null, userId: 'local', ...times };
    expect(thread).toEqual({ ...listed, createdAt: expect.any(Number) });
    expect(await json('threads', 'show', id, '--last', '1')).toMatchObject({
      ...listed,
      messages: [{ role: 'assistant', text: expect.stringContaining('skill `hello`') }],
    });
    const tokens = { tokensBefore: expect.any(Number), tokensAfter: expect.any(Number) };
    expect(await json('threads', 'compact', id)).toEqual({ thread: id, ...tokens });
    expect(await json('approvals')).toEqual([]);
  });
});

describe('V1 threads check', () => {
  const damage = (sql: string) => {
    const database = openDatabase(path.join(folder, 'sandbox/data/pith.db'));
    database.run(sql);
    database.close();
  };

  it('T8 says of a turn that was cut off in a call how to finish it, as does whatever opens the conversation', async () => {
    await run('chat', '-p', 'hi', '--thread', 'cut');
    damage("DELETE FROM messages WHERE thread = 'cut' AND seq > 2");
    damage("UPDATE turns SET state = 'running' WHERE thread = 'cut'");
    const how = 'the last turn did not end; finish it with: pith chat --thread cut --resume';
    expect(await run('threads', 'check', 'cut')).toEqual({
      code: 0,
      out: `cut\n  unfinished: ${how}\n1 conversation checked; all is well\n`,
      err: '',
    });
    expect((await run('threads', 'show', 'cut')).out).toContain(how);
    expect((await run('chat', '--thread', 'cut', '--resume')).err).not.toContain(how);
    damage("UPDATE turns SET state = 'running' WHERE thread = 'cut'");
    expect((await run('chat', '-p', 'hi', '--thread', 'cut')).err).toContain(how);
    expect((await run('chat', '-p', 'hi', '--thread', 'cut')).err).not.toContain(how);
  });

  it('says thread by thread what is wrong, changes nothing, and mends it with --repair', async () => {
    for (const thread of ['torn', 'cut']) await run('chat', '-p', 'hi', '--thread', thread);
    expect(await run('threads', 'check', '--all')).toEqual({ code: 0, out: '2 conversations checked; all is well\n', err: '' });
    damage("DELETE FROM messages WHERE thread = 'torn' AND seq = 3");
    damage(`UPDATE messages SET message = '{"role"' WHERE thread = 'cut' AND seq = 4`);
    expect((await run('threads', 'show', 'cut')).err).toContain('pith threads check cut --repair');
    const { code, out } = await run('threads', 'check', '--all');
    expect([code, out.split('\n')]).toEqual([
      1,
      [
        'cut',
        '  message 4: it cannot be read',
        'torn',
        expect.stringMatching(/^ {2}message 2: the call of '\w+' has no answer$/u),
        '2 conversations checked; 2 with something wrong; to repair: add --repair; copy the data folder first if it matters',
        '',
      ],
    ]);
    const mended = await run('threads', 'check', 'torn', '--repair');
    expect(mended).toMatchObject({ code: 0, out: expect.stringMatching(/^torn \(repaired\)\n.*\n1 conversation checked; 1 repaired\n$/u) });
    const all = await run('threads', 'check', '--all', '--repair', '--json');
    expect([all.code, JSON.parse(all.out)]).toEqual([
      0,
      expect.arrayContaining([
        { thread: 'cut', repaired: true, faults: [{ message: 4, what: 'it cannot be read' }] },
        { thread: 'torn', repaired: false, faults: [] },
      ]),
    ]);
    expect(await run('chat', '-p', 'hi', '--thread', 'cut')).toMatchObject({ code: 0 });
    damage(`UPDATE messages SET message = '{"role":"user","content":[{"type":"text","text":"pith:sealed:x"}]}' WHERE thread = 'torn'`);
    const sealed = await run('threads', 'check', '--all', '--repair');
    expect(sealed).toEqual({ code: 0, out: 'torn: sealed, not checked\n1 conversation checked; all is well\n', err: '' });
    const alone = await run('threads', 'check', 'torn');
    expect(alone).toEqual({ code: 0, out: 'torn: sealed, not checked\nnothing could be checked\n', err: '' });
  });

  it.each([
    [['threads', 'check'], 'check needs a thread; write: pith threads check <id>, or: pith threads check --all'],
    [['threads', 'check', 'x', '--all'], 'either one thread or --all is checked'],
    [['threads', 'check', 'nowhere'], "no thread 'nowhere': nothing was said in it yet"],
  ])('%s is refused', async (argv, why) => {
    expect(await run(...argv)).toMatchObject({ code: expect.any(Number), out: '', err: expect.stringContaining(why) });
  });
});
