import { describe, expect, it } from 'vitest';
import type { Command, CommandIO, TurnEvent } from 'pith';
import { describeChannel } from '../../../sandbox/extensions/cli_channel/conversation.ts';
import { typedHints } from '../../../sandbox/extensions/cli_channel/commands.ts';
import { fakeClock, scriptedModel } from 'pith/testing';
import { linesOf } from '../../journeys/pith-process.ts';
import { passed } from '../../waiting.ts';
import { serverOf } from '../../places.ts';
import { kernelChat, scriptedChat, fails, hangs, pipe, says, USAGE } from './chats.ts';

const SHOWN = { title: 'Skill pdf', metadata: { skill_id: 'pdf' }, line: 'Skill pdf loaded' };
const STEPS: readonly TurnEvent[] = [
  { type: 'notice', code: 'degraded', message: 'kv is off' },
  { type: 'tool-call', id: 'c1', name: 'read_skill', input: { skill_id: 'pdf' } },
  { type: 'tool-result', id: 'c1', name: 'read_skill', ok: true, at: 5, output: 'body', ...SHOWN },
  { type: 'tool-call', id: 'c2', name: 'kv_get', input: { key: 'a' } },
  { type: 'tool-result', id: 'c2', name: 'kv_get', ok: false, at: 6, error: { code: 'tool_failed', message: 'no such key' } },
];

/** As programs are told it: what a terminal shows is no part of the format. */
const withoutLine = (event: TurnEvent) => Object.fromEntries(Object.entries(event).filter(([key]) => key !== 'line'));

describe('pith chat -p', () => {
  it('prints the answer as the model wrote it, steps and notices on the error stream', async () => {
    const chat = await scriptedChat([says('**Hello**\nthere', ...STEPS)]);
    expect(await pipe(chat, ['-p', 'hi'])).toEqual({
      code: 0,
      out: '**Hello**\nthere\n',
      err: 'kv is off\n✓ Skill pdf loaded 0 ms\n✗ kv_get (key: a): no such key 0 ms\n',
    });
    expect(chat.requests).toMatchObject([
      { agent: 'main', input: 'hi', channelId: 'cli', threadId: expect.stringMatching(/^[0-9a-z]{8}-[0-9a-z]{4}$/u) },
    ]);
  });

  it('names the call where what its tool says of a failure does not', async () => {
    const line = 'Error: the guard refuses it';
    const steps: readonly TurnEvent[] = [
      { type: 'tool-call', id: 'c1', name: 'write_file', input: { path: 'a.txt' } },
      { type: 'tool-result', id: 'c1', name: 'write_file', ok: false, at: 5, line, error: { code: 'denied', message: line.slice(7) } },
    ];
    const { err } = await pipe(await scriptedChat([says('no', ...steps)]), ['-p', 'hi']);
    expect(err).toBe('✗ write_file (path: a.txt): the guard refuses it 0 ms\n');
  });

  it('prints with --json exactly the lines of the format', async () => {
    const chat = await scriptedChat([says('Hi you', ...STEPS)]);
    const { out, code } = await pipe(chat, ['-p', 'hi', '--thread', 't-9'], { json: true });
    expect(code).toBe(0);
    expect(linesOf(out)).toEqual([
      { type: 'turn-start', agent: 'main', thread: 't-9', model: 'test/model' },
      ...STEPS.slice(1).map(withoutLine),
      { type: 'text-delta', text: 'Hi ' },
      { type: 'text-delta', text: 'you' },
      { type: 'turn-end', reason: 'done', text: 'Hi you', usage: USAGE },
    ]);
  });

  it('exits 1 for a turn that stopped at a limit, and says so; what it had said by then is printed', async () => {
    const error = { code: 'limit_reached', message: 'stopped at time_budget_ms (5)' };
    const chat = await scriptedChat([
      async function* () {
        yield { type: 'text-delta', text: 'half' };
        yield { type: 'turn-end', reason: 'limit', text: 'half', usage: USAGE, error };
      },
    ]);
    expect(await pipe(chat, ['-p', 'hi'])).toEqual({ code: 1, out: 'half\n', err: 'pith: stopped at time_budget_ms (5)\n' });
  });

  it('exits 1 for a turn that fails and 130 for one that is aborted', async () => {
    const chat = await scriptedChat([fails]);
    expect(await pipe(chat, ['-p', 'hi'])).toEqual({ code: 1, out: '', err: 'pith: the key was refused\n' });
    expect((await pipe(chat, ['-p', 'hi'], { json: true })).out).toBe(
      `${JSON.stringify({ type: 'turn-end', reason: 'error', text: '', usage: USAGE, error: { code: 'model_auth', message: 'the key was refused' } })}\n`,
    );

    const abort = new AbortController();
    const slow = await scriptedChat([hangs]);
    const running = pipe(slow, ['-p', 'hi'], { signal: abort.signal });
    abort.abort();
    expect((await running).code).toBe(130);
  });

  it('takes agent, model and thread from the line; the thread’s own agent when none is named', async () => {
    const chat = await scriptedChat([says('ok')]);
    await pipe(chat, ['-p', 'hi', '-a', 'other', '--model', 'x/y', '--thread', 'new-1']);
    await pipe(chat, ['-p', 'hi', '--thread', 'old-1']);
    expect(chat.requests).toMatchObject([
      { agent: 'other', threadId: 'new-1', policy: { model: 'x/y' } },
      { agent: 'other', threadId: 'old-1' },
    ]);
  });

  it('U-6 completes the name of a model on the line where one connected server has it, and says which there are otherwise', async () => {
    const url = await serverOf((_, response) => response.end('{"data":[{"id":"alpha"}]}'));
    const files = { 'pith.yaml': `default_agent: main\nproviders: { near: { base_url: "${url}/v1" } }\n` };
    const only = ['cli_channel', 'openai_compatible'];
    const chat = await scriptedChat([says('ok')], [], { model: undefined, env: {}, only, files });
    await pipe(chat, ['-p', 'hi', '-m', 'alpha']);
    expect(chat.requests).toMatchObject([{ policy: { model: 'near/alpha' } }]);
    await expect(pipe(chat, ['-p', 'hi', '-m', 'alfa'])).rejects.toMatchObject({
      message: "no connected server has a model 'alfa' (did you mean 'alpha'?)",
      cure: 'use near/alpha; or connect a server: pith setup',
    });
  });

  it('K45 continues an interrupted turn with --resume, in the named thread or the last one', async () => {
    const chat = await scriptedChat([says('ok')]);
    await pipe(chat, ['--thread', 'old-1', '--resume'], { lines: ['not read'] });
    await pipe(chat, ['--resume', '-p', 'and then?']);
    expect(chat.requests).toMatchObject([
      { agent: 'other', threadId: 'old-1', channelId: 'cli', userId: 'local', resume: true },
      { agent: 'other', threadId: 'old-1', channelId: 'cli', userId: 'local', resume: true },
      { agent: 'other', threadId: 'old-1', channelId: 'cli', userId: 'local', input: 'and then?' },
    ]);
  });

  it('says which conversation it begins or continues where that was not said', async () => {
    const chat = await scriptedChat([says('ok')]);
    expect((await pipe(chat, ['-p', 'hi', '--thread', 'fresh'])).err).toBe('new conversation fresh\n');
    expect((await pipe(chat, ['-p', 'hi', '--thread', 'old-1'])).err).toBe('');
    expect((await pipe(chat, ['--resume', '-p', 'hi'])).err).toBe('continuing conversation old-1\n');
    await expect(pipe(chat, ['--resume', '--thread', 'fresh'])).rejects.toMatchObject({ code: 'thread_unknown' });
  });

  it.each([' ', 'hi --thread=', 'hi --thread=../../x', 'hi --thread=a/b', 'hi --thread=.hidden', `hi --thread=${'x'.repeat(65)}`])(
    'refuses an empty message, and what is no name of a conversation: %s',
    async (line) => {
      const chat = await scriptedChat([says('ok')]);
      const [message = '', ...options] = line.split(/ (?=--)/u);
      await expect(pipe(chat, ['-p', message, ...options])).rejects.toMatchObject({ code: 'usage' });
      expect(chat.requests).toEqual([]);
    },
  );

  it('does not answer as another agent when the default agent is not there', async () => {
    const chat = await scriptedChat([says('ok')], [], { only: [], files: { 'pith.yaml': 'default_agent: mian\n' } });
    await expect(pipe(chat, ['-p', 'hi'])).rejects.toMatchObject({ code: 'agent_unknown', message: expect.stringContaining("'mian'") });
    expect(chat.requests).toEqual([]);
    await pipe(chat, ['-p', 'hi', '--agent', 'main']);
    expect(chat.requests).toHaveLength(1);
  });
});

describe('standard input', () => {
  const stdin = (text: string) => [{ name: 'stdin', text }];

  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('größer', 'utf16le')]);
  it.each([
    ['-p why?', 'line 1\nline 2\n', stdin('line 1\nline 2\n')],
    ['why?', 'line 1\nline 2\n', stdin('line 1\nline 2\n')],
    ['-p why? --lines', 'line 1\nline 2\n', stdin('line 1\nline 2\n')],
    ['-p why?', utf16, stdin('größer')], // with its mark, as some shells pipe it
    ['-p why?', '', []],
  ])('U30 goes with the message of %j as a document where it is not empty: %j', async (words, piped, attachments) => {
    const chat = await scriptedChat([says('ok')]);
    expect(await pipe(chat, words.split(' '), { stdin: piped })).toEqual({ code: 0, out: 'ok\n', err: '' });
    expect(chat.requests[0]).toMatchObject({ input: 'why?', attachments });
  });

  it('U30 is one message where there is none on the line, a slash in it too', async () => {
    const chat = await scriptedChat([says('ok')]);
    expect(await pipe(chat, [], { stdin: '/skills\nand more\n' })).toMatchObject({ code: 0, out: 'ok\n' });
    expect(chat.requests).toMatchObject([{ input: '/skills\nand more', attachments: [] }]);
    await expect(pipe(chat, [], { stdin: ' \n' })).rejects.toMatchObject({
      code: 'usage',
      message: 'there is no message: standard input is empty',
    });
  });

  it('U30 is read to 1 MB, at the end of a character, and what is left out is said', async () => {
    const chat = await scriptedChat([says('ok')]);
    const { err } = await pipe(chat, ['-p', 'hi'], { stdin: `a${'é'.repeat(700_000)}` });
    expect(err).toBe('standard input is longer than 1 MB: its beginning is sent, and the rest is left out\n');
    expect(chat.requests[0]?.attachments?.[0]).toHaveProperty(
      'text',
      `a${'é'.repeat(524_287)}\n[The rest of standard input was left out: it is longer than 1 MB.]`,
    );
    await pipe(chat, ['-p', 'hi'], { stdin: 'a'.repeat(1024 * 1024) });
    expect(chat.requests[1]?.attachments?.[0]).toHaveProperty('text.length', 1024 * 1024);
  });

  it.each([Buffer.from([0x61, 0xe9, 0x62]), Buffer.from('PK\u0003\u0004\0\0'), Buffer.from([0xff, 0xfe, 0x00, 0xd8])])(
    'U30 is refused where it is no text: %j',
    async (bytes) => {
      const chat = await scriptedChat([says('ok')]);
      for (const words of [[], ['-p', 'hi']])
        await expect(pipe(chat, words, { stdin: bytes })).rejects.toMatchObject({ code: 'usage', cure: expect.stringContaining('iconv') });
      expect(chat.requests).toEqual([]);
    },
  );

  it('U30 is not waited for where programs left it open: after three silent seconds the message goes alone', async () => {
    const clock = fakeClock();
    const chat = await scriptedChat([says('ok')], [], { clock });
    const running = pipe(chat, ['-p', 'hi'], { stdin: null });
    expect(await passed(clock, running)).toEqual({
      code: 0,
      out: 'ok\n',
      err: 'nothing came on standard input: only the message is sent\n',
    });
    expect(chat.requests[0]).toHaveProperty('attachments', []);
  });

  it('U30 goes with a recipe too', async () => {
    const files = { 'recipes/look.md': '---\ndescription: d\n---\nLook at it.' };
    const chat = await scriptedChat([says('ok')], [], { files, only: ['recipes'] });
    await pipe(chat, ['-r', 'look'], { stdin: 'a log\n' });
    expect(chat.requests).toMatchObject([{ input: 'Look at it.', attachments: stdin('a log\n') }]);
  });
});

describe('the last conversation', () => {
  it('U30 goes on with -c, and says which it is', async () => {
    const chat = await scriptedChat([says('ok')]);
    expect(await pipe(chat, ['-c', 'and then?'])).toEqual({ code: 0, out: 'ok\n', err: 'continuing conversation old-1\n' });
    expect(chat.requests).toMatchObject([{ agent: 'other', threadId: 'old-1', input: 'and then?' }]);
    await expect(pipe(chat, ['-c', '-t', 'old-1', 'x'])).rejects.toMatchObject({ code: 'usage' });
  });

  it('U30 is missed where there is none', async () => {
    const pith = await kernelChat({ model: scriptedModel([]), files: { 'agents/main/manifest.yaml': 'id: main\nagent: {}\n' } });
    await expect(pipe(pith, ['-c', 'hi'])).rejects.toMatchObject({
      code: 'thread_unknown',
      message: 'nothing to continue: there is no conversation yet',
    });
  });
});

describe('a pipe', () => {
  it('U30 is with --lines one message a line until it ends, all in one thread', async () => {
    const chat = await scriptedChat([says('one'), says('two')]);
    expect(await pipe(chat, [], { lines: ['first', '', 'second'] })).toEqual({ code: 0, out: 'one\ntwo\n', err: '' });
    expect(chat.requests.map(({ input }) => input)).toEqual(['first', 'second']);
    expect(new Set(chat.requests.map(({ threadId }) => threadId)).size).toBe(1);
  });

  it('goes on after a turn that failed, and says so in the exit code', async () => {
    const chat = await scriptedChat([fails, says('two')]);
    expect(await pipe(chat, [], { lines: ['first', 'second'] })).toMatchObject({ code: 1, out: 'two\n' });
  });

  it('ends when it is aborted while it waits for a line', async () => {
    const chat = await scriptedChat([says('one')]);
    const abort = new AbortController();
    const never: AsyncIterable<string> = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) };
    const running = pipe(chat, [], { lines: never, signal: abort.signal });
    abort.abort();
    expect((await running).code).toBe(130);
  });

  it('K47 names the help of a group for a command that it does not have', async () => {
    const chat = await scriptedChat([]);
    const { err, code } = await pipe(chat, [], { lines: ['/skills remove-everything'] });
    expect(err).toBe('pith: unknown command /skills remove-everything; see /help skills\n');
    expect(code).toBe(1);
  });

  it('K47 T33 takes a group for its list, also one within a group', async () => {
    const list = { path: 'tasks schedules list', description: 'Lists.', run: async (_: unknown, io: CommandIO) => io.print('the list') };
    const chat = await scriptedChat([], [list as unknown as Command]);
    expect(
      await pipe(chat, [], { lines: ['/tasks schedules', '/tasks schedules list', '/tasks schedules nope', '/schedules'] }),
    ).toMatchObject({
      out: 'the list\nthe list\n',
      err: 'pith: unknown command /tasks schedules nope; see /help tasks schedules\npith: unknown command /schedules; see /tasks schedules\n',
    });
  });

  it('K47 takes slash commands, and paths as messages', async () => {
    const chat = await scriptedChat([says('ok')]);
    const { out, err, code } = await pipe(chat, [], {
      lines: ['/skills', '/agent other', '/context --full', '/etc/hosts is what?', '/skils', '/code-revew x', '/quit', 'never'],
    });
    expect(out).toMatch(/^ID .*\n[^]*code-review[^]*\nTalking with other\n[^]*\[Channel\][^]*\ntotal +\d+\nok\n$/u);
    expect(err).toBe(
      "pith: unknown command /skils (did you mean '/skills' or '/tools'?)\npith: unknown command /code-revew (did you mean '/code-review'?)\n", // T33
    );
    expect(code).toBe(1);
    expect(chat.requests).toMatchObject([{ agent: 'other', input: '/etc/hosts is what?' }]);
  });
});

it('S13 says by which names the skills of plugins are loaded, for one that several have', async () => {
  const of = (plugin: string) => ({
    [`skills/${plugin}/.claude-plugin/plugin.json`]: `{ "name": "${plugin}" }`,
    [`skills/${plugin}/skills/prospect/SKILL.md`]: '---\nname: prospect\ndescription: Finds customers.\n---\nLook.\n',
  });
  const chat = await scriptedChat([says('ok')], [], { files: { ...of('one'), ...of('two') } });
  const { err } = await pipe(chat, [], { lines: ['/prospect leads'] });
  expect(err).toBe("pith: unknown command /prospect (did you mean '/one:prospect' or '/two:prospect'?)\n");
});

it('K47 a command that refuses what it is given is not unknown, and no skill takes its place', async () => {
  const files = { 'skills/help/SKILL.md': '---\nname: help\ndescription: Helps.\n---\nHelp.\n' };
  const chat = await scriptedChat([says('ok')], [], { files });
  expect((await pipe(chat, [], { lines: ['/help nonsense'] })).err).toBe("pith: there is no '/nonsense'; see /help\n");
  expect(chat.requests).toEqual([]);
});

it('S13 says which agent may read a skill that the present one may not', async () => {
  const files = { 'agents/mute/manifest.yaml': 'id: mute\nversion: 1.0.0\nagent: { description: d, skills: { mode: none } }\n' };
  const { err } = await pipe(await scriptedChat([says('ok')], [], { files }), [], { lines: ['/agent mute', '/code-review x'] });
  expect(err).toMatch(/^pith: the agent 'mute' may not read the skill 'code-review'; talk to one that may: \/agent \w+\n$/u);
});

describe('slash commands', () => {
  it('K47 are all there, listed by /help from their definitions', async () => {
    const chat = await scriptedChat([says('ok')]);
    const { out } = await pipe(chat, ['-p', '/help all']);
    const names = `help, agents list, agent [id], skills list, tools list, context, compact, new, threads list, thread [id],
      approvals [question], permissions, plan [state], doctor, model [ref], quit`;
    for (const name of names.split(/,\s+/u)) expect(`\n${out}`).toContain(`\n  /${name} `);
    expect(out).not.toContain('/chat');
    const some = (await pipe(chat, ['-p', '/help /agents list'])).out;
    expect(some.trim().split('\n')).toEqual([expect.stringContaining('/agents list')]);
    expect((await pipe(chat, ['-p', '/help nothing'])).err).toContain("there is no '/nothing'");
  });

  it('K47 /new begins another thread, /thread goes back, /model takes another model', async () => {
    const chat = await scriptedChat([says('ok')]);
    await pipe(chat, ['--thread', 'a-1'], {
      lines: ['one', '/new', 'two', '/thread old-1', 'three', '/model x/y', 'four', '/model default', 'five'],
    });
    const [one, two, three, four, five] = chat.requests;
    expect(one?.threadId).toBe('a-1');
    expect(two?.threadId).not.toBe('a-1');
    expect(three).toMatchObject({ threadId: 'old-1', agent: 'other', policy: undefined });
    expect(four?.policy).toEqual({ model: 'x/y' });
    expect(five?.policy).toBeUndefined();
  });

  it('U22 the chosen model and effort are those of the conversation: /new begins with the agent’s, who comes back has them again, and a change is said', async () => {
    const model = scriptedModel(Array.from({ length: 6 }, () => ({ text: 'ok' })));
    const files = { 'pith.yaml': 'default_agent: main\n', 'agents/main/manifest.yaml': 'id: main\nagent: {}\n' };
    const chat = await kernelChat({ model, files });
    const lines = ['/model x/y', 'one', '/effort low', '/new', 'two', '/thread a-1', 'three', '/model default', 'four'];
    const { out } = await pipe(chat, ['--thread', 'a-1'], { lines });
    expect(out).toMatch(/New conversation .+\nModel: scripted\/scripted\nok/u);
    expect(out).toContain('Model: scripted/scripted (chosen in this conversation), thinking effort low\n');
    await pipe(chat, ['-p', 'five', '--thread', 'a-1', '-m', 'x/z']);
    const { err } = await pipe(chat, ['-p', 'six', '-c']);
    expect(err).toContain('Model: scripted/scripted (chosen in this conversation), thinking effort low');
    const chosen = { model: 'x/y', effort: 'low' };
    const later = { model: 'x/z', effort: 'low' };
    expect(chat.requests.map(({ policy }) => policy)).toEqual([{ model: 'x/y' }, undefined, chosen, { effort: 'low' }, later, later]);
  });

  it('K47 say in an empty conversation that nothing was said in it', async () => {
    const chat = await scriptedChat([says('ok')]);
    const { err } = await pipe(chat, [], { lines: ['/resume', '/compact', '/threads check', '/branch'] });
    expect(err).toBe('pith: nothing was said here yet; send a message first\n'.repeat(4));
    expect(chat.requests).toEqual([]);
  });

  it('K47 are told of the conversation, and of no shell', async () => {
    const seen: unknown[] = [];
    const run: Command['run'] = async (_, io) => void seen.push('shell' in io, io.session?.agentId);
    const chat = await scriptedChat([], [{ path: 'where', description: 'Where it runs', run }]);
    expect(await pipe(chat, [], { lines: ['/where'] })).toMatchObject({ code: 0 });
    expect(seen).toEqual([false, 'main']);
  });

  it('take --json, as on the command line', async () => {
    const chat = await scriptedChat([says('ok')]);
    const { out } = await pipe(chat, ['-p', '/agents list --json']);
    expect(out.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(out)).toContainEqual(expect.objectContaining({ id: 'main', default: true }));
  });

  it('name other commands as they are typed there', async () => {
    const chat = await scriptedChat([says('ok')]);
    expect((await pipe(chat, ['-p', '/agent mian'])).err).toContain('; see: /agents list\n');
    const hint = "see 'pith doctor' for x, npx pith skills list, node ../bin/pith doctor; pith chat; my-pith doctor";
    const typed = "see '/doctor' for x, /skills list, /doctor; pith chat; my-pith doctor";
    expect(typedHints(hint, ['doctor', 'skills list'])).toBe(typed);
  });

  it('K44 U25 an agent or thread that is unknown, or an agent that cannot run, is told, and nothing changes', async () => {
    const broken = { 'agents/bad/manifest.yaml': 'id: bad\nagent: { uses_tools: [nothing_there] }\n' };
    const chat = await scriptedChat([says('ok')], [], { files: broken });
    const { out, err } = await pipe(chat, [], { lines: ['/agent mian', '/agent nobody', '/agent bad', '/thread nowhere', 'hi'] });
    for (const said of ["did you mean 'main'?", "no agent 'nobody'", 'bad', "no thread 'nowhere'"]) expect(err).toContain(said);
    expect(out).not.toContain('Talking with');
    expect(chat.requests).toMatchObject([{ agent: 'main', input: 'hi' }]);
  });

  it('work without the extension whose commands fail', async () => {
    const chat = await scriptedChat([says('ok')]);
    const broken = { extensionId: 'broken', getCommands: () => Promise.reject(new Error('gone')) };
    const { find } = chat.context;
    Object.assign(chat.context, { find: (protocol: Parameters<typeof find>[0]) => [broken, ...find(protocol)] });
    expect((await pipe(chat, ['-p', '/agents list'])).out).toContain('other');
  });
});

describe('what the model is told of the channel', () => {
  it('K63 channel, user and formats: the same bytes each turn, nothing for other channels', () => {
    const text = describeChannel({ channelId: 'cli', userId: 'ada' });
    expect(text).toContain('terminal');
    expect(text).toContain('`ada`');
    expect(text).toMatch(/Markdown[\s\S]*Images[\s\S]*not shown/u);
    expect(describeChannel({ channelId: 'cli', userId: 'ada' })).toBe(text);
    expect(describeChannel({ channelId: 'web', userId: 'ada' })).toBeNull();
  });
});
