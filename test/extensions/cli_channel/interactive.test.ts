import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'pith';
import { describe, expect, it } from 'vitest';
import { flat } from '../../flat.ts';
import { toolExtension } from '../../journeys/sandbox-files.ts';
import { findCommands } from '../../../sandbox/extensions/cli_channel/commands.ts';
import { complete } from '../../../sandbox/extensions/cli_channel/completion.ts';
import { newThreadId } from '../../../sandbox/extensions/cli_channel/conversation.ts';
import { answering, atPrompt, scriptedChat, fails, hangs, person, says, talking, turn, untilAborted, USAGE, type Answer } from './chats.ts';
import { openDatabase } from '../../../core/store/index.ts';
import { serverOf } from '../../places.ts';
import { gate } from '../../waiting.ts';

describe('a conversation on a terminal', () => {
  it('29 draws its prompt first: what is typed before the services are there waits, and is sent after the header', async () => {
    let started: (problems: string) => void = () => undefined;
    const ready = new Promise<string>((resolve) => (started = resolve));
    const { ada, chat } = await talking([says('The answer')], [], { start: () => ready });
    await ada.type('hello\r', 'queued: hello');
    ada.type('and mo');
    await expect.poll(() => ada.screen()).toContain('queued: hello\n› and mo');
    expect(chat.requests).toEqual([]);
    started('1 problem (/doctor):\n  a wrong key');
    await ada.sees('The answer');
    const shown = ada.screen();
    const order = ['a wrong key', 'main · scripted/scripted', '› hello', 'The answer', '› and mo'].map((text) => shown.indexOf(text));
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(Math.min(...order)).toBeGreaterThanOrEqual(0);
    expect(shown).not.toContain('queued:');
    expect(chat.requests).toHaveLength(1);
    ada.type('\u0015\u0004');
    expect(await ada.done).toBe(0);
  });

  it.each([
    ['Ctrl-D', '\u0004', 0],
    ['Ctrl-C twice', '\u0003\u0003', 0],
  ])('29 %s leaves before the services are there, and gives the terminal back', async (_, keys, code) => {
    const { ada, chat } = await talking([says('never')], [], { start: () => new Promise(() => undefined) });
    ada.type(keys);
    expect(await ada.done).toBe(code);
    expect(ada.raw().endsWith('\u001b[?1004l\u001b[<u\u001b[?2004l')).toBe(true);
    expect(chat.requests).toEqual([]);
  });

  it('29 a start that fails ends the conversation with its reason and gives the terminal back; so does the end of the process', async () => {
    const chat = await scriptedChat([says('never')]);
    const ada = person(chat, [], { start: async () => Promise.reject(new Error('no disk')) });
    await expect(ada.done).rejects.toThrow('no disk');
    expect(ada.raw()).toContain('\u001b[?2004l');
    const abort = new AbortController();
    const bob = person(chat, [], { signal: abort.signal, start: () => new Promise(() => undefined) });
    await bob.sees('› ');
    abort.abort();
    expect(await bob.done).toBe(130);
    expect(bob.raw()).toContain('\u001b[?2004l');
  });

  it('opens with who, which model and how to leave; shows answers and steps; says how to go on', async () => {
    const step = { id: 'c', name: 'read_skill' } as const;
    const result = { type: 'tool-result', ...step, ok: true, at: 1, output: '', line: 'Skill pdf loaded' } as const;
    const chat = await scriptedChat([says('The **answer**', { type: 'tool-call', ...step, input: {} }, result)]);
    const ada = person(chat);
    await ada.sees('main · scripted/scripted · /help shows what you can do, Ctrl-D leaves', '› ');
    await ada.type('hello\r', '✓ Skill pdf loaded 0 ms\n');
    await expect.poll(() => ada.screen()).toContain('✓ Skill pdf loaded 0 ms\nThe answer\n\n› \n'.trimEnd());
    await ada.type('\u0004', `Go on later with: pith chat --thread ${chat.requests[0]?.threadId}`);
    expect(await ada.done).toBe(0);
    expect(ada.screen()).not.toContain('No model is connected');
  });

  it('takes a terminal that does not know its width for one of 80', async () => {
    const { ada } = await talking([says('one two three four')], [], { columns: 0 });
    await ada.type('hello\r', 'one two three four\n');
    expect(await ada.end()).toBe(0);
  });

  it.each([
    ['there is none', {}, ['No model is connected', '/setup adds one', '› ']],
    [
      'U-10 the address that is set is of another provider',
      { PITH_MODEL: 'ollama/m', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' },
      ['OPENAI_BASE_URL is set but not used: ollama/m is from another provider', '› '],
    ],
    [
      'it is unknown, which takes no room in the line of status',
      { PITH_MODEL: 'nowhere/m1' },
      ['main · no model · /help', "model 'nowhere/m1' is unknown: there is no provider 'nowhere'", '/model chooses', 'no model · main'],
    ],
  ])('says how to come to a model where %s', async (_, env, seen) => {
    const ada = person(await scriptedChat([says('ok')], [], { model: undefined, env, only: undefined }));
    await ada.sees(...seen);
    ada.type('/quit\r');
    expect(await ada.done).toBe(0);
  });

  it('U-6 U-4 /model lists the models of connected servers, takes a number or completes a name, and what cannot be sent to is said at the start', async () => {
    const [first, second] = await Promise.all(
      [['large', 'small'], ['only']].map((names) =>
        serverOf((_, response) => response.end(JSON.stringify({ data: names.map((id) => ({ id })) }))),
      ),
    );
    const files = {
      'pith.yaml': `default_agent: main\nmodels: { default: first/lage }\nproviders: { first: { base_url: "${first}/v1" }, second: { base_url: "${second}/v1" } }\n`,
    };
    const chat = await scriptedChat([says('ok')], [], {
      model: undefined,
      env: {},
      only: ['cli_channel', 'openai_compatible', 'offline'],
      files,
    });
    const ada = person(chat);
    await ada.sees("No message can be sent: 'first' has no model 'lage' (did you mean 'large'?)");
    await ada.type('/model\r', ' 1  first/large', ' 2  first/small', ' 3  second/only', 'Model, by number or name');
    await ada.type('9\r', "has a model '9'", 'Model, by number or name');
    await ada.type('/model first/small\r', 'first/small (chosen in this conversation)', '› ');
    await ada.type('/model\r', ' 2  first/small (chosen in this conversation)', 'Model, by number or name');
    await ada.type('2\r', 'first/small (chosen in this conversation)');
    await ada.type('/model\r', ` 2  first/small (chosen in this conversation)`);
    await ada.type('\r', 'first/small (chosen in this conversation)');
    await ada.type('/model onl\r', "no connected server has a model 'onl' (did you mean 'only'?)");
    await ada.type('/model only\r', 'second/only (chosen in this conversation)');
    await ada.type('/effort hihg\r', "effort takes off, low, medium, high or default, not 'hihg'");
    await ada.type('/effort\r', 'Thinking effort: default');
    await ada.type('/effort high\r', 'Thinking effort: high');
    await ada.type('hello\r', 'ok');
    expect(chat.requests[0]?.policy).toEqual({ model: 'second/only', effort: 'high' });
    const typed = '/model second/';
    const sources = { commands: () => findCommands(chat.context), files: async () => [] } as unknown as Parameters<typeof complete>[2];
    const offers = await complete(typed, typed.length, sources, new AbortController().signal);
    expect(offers.items).toEqual(['second/only ']);
    await ada.end();
  });

  it('shows a notice once and an error clearly', async () => {
    const notice = { type: 'notice', code: 'degraded', message: 'kv is off' } as const;
    const chat = await scriptedChat([says('one', notice), says('two', notice), fails]);
    const ada = person(chat);
    for (const [said, seen] of [
      ['a', 'one'],
      ['b', 'two'],
      ['c', 'pith: the key was refused'],
    ] as const) {
      await ada.sees('› ');
      await ada.type(`${said}\r`, seen);
    }
    await ada.end();
    expect(ada.screen().match(/kv is off/gu)).toHaveLength(1);
  });

  it('Ctrl-C stops the turn and the conversation goes on; twice on an empty line it leaves', async () => {
    const { ada, chat } = await talking([hangs, says('here again')]);
    ada.type('work\r');
    await expect.poll(() => chat.requests.length).toBe(1);
    await ada.type('\u0003', 'Stopped', '› ');
    ada.type('hello\r');
    await expect.poll(() => ada.screen()).toContain('here again\n\n›');
    await ada.type('\u0003', 'Ctrl-C again or Ctrl-D leaves');
    ada.type('\u0003');
    expect(await ada.done).toBe(0);
  });

  it('ends when the process is asked to, in the middle of a turn', async () => {
    const abort = new AbortController();
    const { ada, chat } = await talking([hangs], [], { signal: abort.signal });
    ada.type('work\r');
    await expect.poll(() => chat.requests.length).toBe(1);
    abort.abort();
    expect(await ada.done).toBe(130);
  });

  it('keeps what is pasted as one message, and lines that end in a backslash', async () => {
    const { ada, chat } = await talking([says('ok')]);
    ada.type('\u001b[200~first\rsecond\rthird\u001b[201~');
    await ada.type('\r', 'ok', '› ');
    await ada.type('one \\\rtwo\r', 'ok');
    await ada.end();
    expect(chat.requests.map(({ input }) => input)).toEqual(['first\nsecond\nthird', 'one \ntwo']);
  });

  it('U20 shows what is typed during an answer as queued, and sends it after the answer', async () => {
    const { opened, open: go } = gate();
    const waits = turn('slow one', () => opened);
    const { ada, chat } = await talking([waits, says('second answer')]);
    await ada.type('first\r', 'slow');
    await ada.type('second\r', 'queued: second');
    expect(chat.requests).toHaveLength(1);
    const kept = await readFile(path.join(chat.context.dataDirectory, 'history'), 'utf8');
    expect(kept).toBe('"first"\n"second"\n'); // who is killed now has it on ↑
    go();
    await ada.sees('second answer');
    await ada.end();
    expect(ada.screen()).toContain('› first\nslow one\n\n› second\nsecond answer');
    expect(chat.requests.map(({ input }) => input)).toEqual(['first', 'second']);
  });

  it.each(['\u0003', '\u001b[27u'])('U20 a stop keeps what was said, and gives what was queued back to be edited: %j', async (key) => {
    const { ada, chat } = await talking([turn('The beginning of it', untilAborted), says('second answer')]);
    await ada.type('first\r', 'The beginning');
    await ada.type('second\r', 'queued: second');
    await ada.type(key, 'Stopped', '› second');
    expect(ada.screen()).toContain('The beginning of it\nStopped');
    expect(ada.screen()).not.toContain('queued');
    expect(chat.requests).toHaveLength(1);
    await ada.type('!\r', 'second answer', '› ');
    await ada.type('!\r', 'Write a command after it', '› ');
    await ada.end();
    expect(chat.requests.map(({ input }) => input)).toEqual(['first', 'second!']);
  });

  it('leaves no listener on the streams of the process', async () => {
    const { ada } = await talking([says('ok')]);
    expect(ada.listeners()).toEqual(['resize', 'data']);
    ada.type('\u0004');
    await ada.done;
    expect(ada.listeners()).toEqual([]);
  });

  it('tells of an edit that could not be loaded: at the prompt at once, during an answer after it', async () => {
    const chat = await scriptedChat([hangs]);
    const ada = person(chat);
    const where = { extensionId: 'kv', file: '/s/kv/main.ts', line: 3 };
    const failure = (message: string) => ({ ...where, phase: 'reload' as const, code: 'x', message, at: 0 });
    await ada.sees('Ctrl-D leaves');
    chat.tell('extension.failed', failure('first'));
    await ada.sees('kv /s/kv/main.ts:3: first');
    ada.type('hi\r');
    await expect.poll(() => chat.requests.length).toBe(1);
    chat.tell('extension.failed', failure('second'));
    chat.tell('extension.failed', { ...failure('a tool failed'), phase: 'tool call' });
    expect(ada.screen()).not.toContain('second');
    chat.tell('problem.found', { severity: 'warning', code: 'unknown_key', message: 'a wrong key', file: '/s/pith.yaml', cure: 'look' });
    await ada.type('\u0003', 'second', '/s/pith.yaml: a wrong key; look');
    expect(ada.screen()).not.toContain('a tool failed');
    await ada.end();
  });

  it('says what an edit left wrong once: no notice of a turn says it again', async () => {
    const slip = { code: 'unknown_key', message: 'a wrong key', cure: 'look' };
    const chat = await scriptedChat([says('ok', { type: 'notice', code: slip.code, message: 'a wrong key; look' })]);
    const ada = person(chat);
    await ada.sees('Ctrl-D leaves');
    chat.tell('problem.found', { ...slip, severity: 'warning', file: '/s/pith.yaml', line: 2 });
    await ada.sees('/s/pith.yaml:2: a wrong key; look');
    await ada.type('hi\r', 'ok');
    await ada.end();
    expect(ada.screen().match(/a wrong key/gu)).toHaveLength(1);
  });

  it('prints JSON in one line, and leaves it to a reload command to say that it failed', async () => {
    const long = { words: 'many words '.repeat(20) };
    const chat = await scriptedChat([says('ok')], [answering('long', long)], { files: toolExtension('edited', 'edited', '1') });
    await chat.pith.kernel.host.extensions.activate('edited');
    await chat.pith.write('extensions/edited/main.ts', 'export default class {');
    const ada = await atPrompt(chat);
    await ada.type('/long --json\r', `${JSON.stringify(long)}\n`);
    await ada.type('/extensions reload edited\r', 'edited was not reloaded', '› ');
    await ada.end();
    expect(flat(ada.screen()).match(/New version is/gu)).toHaveLength(1);
  });

  it('breaks errors, notices and /help between words', async () => {
    const words = 'extraordinary '.repeat(12).trim();
    const failing = turn(
      { type: 'notice', code: 'x', message: words },
      { type: 'turn-end', reason: 'error', text: '', usage: USAGE, error: { code: 'x', message: words } },
    );
    const { ada } = await talking([failing], [{ ...answering('odd', null), description: words }], { columns: 60 });
    await ada.type('hi\r', 'pith: extraordinary', '› ');
    await ada.type('/help all\r', '/quit', '› ');
    await ada.end();
    const lines = ada.screen().split(/\r?\n/u);
    expect(lines.filter((line) => line.length > 60)).toEqual([]);
    for (const line of lines.filter((each) => each.includes('extraord'))) expect(line).toMatch(/^(?:[^x]*)(?:extraordinary ?)+$/u);
  });

  it('a message that no turn took comes back into the editor: another process had the conversation', async () => {
    const busy: Answer = async function* () {
      yield { type: 'turn-end', reason: 'error', text: '', usage: USAGE, error: { code: 'thread_busy', message: 'thread is in use' } };
    };
    const { ada, chat } = await talking([busy, says('ok')]);
    await ada.type('alpha\r', 'thread is in use', '› alpha');
    await ada.type('\r', 'ok');
    await ada.end();
    expect(chat.requests.map(({ input }) => input)).toEqual(['alpha', 'alpha']);
  });

  it('Up stays at the oldest line, and Ctrl-D leaves no prompt behind', async () => {
    const { ada, chat } = await talking([says('ok')]);
    await ada.type('alpha\r', 'ok', '› ');
    for (const key of ['\u001b[A', '\u001b[A', '\u001b[A', '\r']) ada.type(key);
    await expect.poll(() => chat.requests.map(({ input }) => input)).toEqual(['alpha', 'alpha']);
    await ada.sees('ok', '› ');
    ada.type('\u0004');
    await ada.done;
    expect(ada.screen()).toMatch(/ok\n\nGo on later with/u);
  });

  it('keeps a history for the next conversation', async () => {
    const chat = await scriptedChat([says('ok')]);
    for (const said of ['alpha', 'beta']) {
      const ada = await atPrompt(chat);
      await ada.type(`${said}\r`, 'ok');
      await ada.end();
    }
    expect(await readFile(path.join(chat.context.dataDirectory, 'history'), 'utf8')).toBe('"alpha"\n"beta"\n');
    const ada = await atPrompt(chat);
    await ada.type('\u001b[A\u001b[A\r', 'ok');
    await ada.end();
    expect(chat.requests.at(-1)?.input).toBe('alpha');
  });

  it('K45 --thread shows the last lines of the conversation', async () => {
    const chat = await scriptedChat([says('ok')]);
    const ada = person(chat, ['--thread', 'old-1']);
    await ada.sees('other · scripted/scripted', '› What was it?', 'It was this.');
    expect(await ada.end()).toBe(0);
  });

  describe('U-3 after a kill in mid-answer', () => {
    const cut = async () => {
      const { opened, open: go } = gate();
      const chat = await scriptedChat([turn('It was ', () => opened, 'this.'), says('and more')]);
      const database = openDatabase(path.join(chat.pith.sandbox, 'data/pith.db'));
      for (const sql of ['DELETE FROM messages WHERE seq > 1', "UPDATE turns SET state = 'running'"]) database.run(sql);
      database.close();
      return { chat, go };
    };

    it.each([
      { words: ['--resume', '--thread', 'old-1'], keys: '', continues: true },
      { words: ['--thread', 'old-1'], keys: '/resume\r', continues: false },
      { words: ['--continue'], keys: '/resume\r', continues: false },
      { words: ['--resume'], keys: '/resume\r', continues: false, chosen: '1' },
    ])(
      'U-3 $words goes on below the transcript, with one prompt and the answer marked as cut, not the question as unknown',
      async (way) => {
        const { words, keys, continues, ...given } = way;
        const { chat, go } = await cut();
        const ada = await atPrompt(chat, words, given);
        await ada.sees('› What was it?');
        if (!continues) await ada.sees('The last answer was cut off: /resume finishes it');
        await ada.type(keys, 'It was');
        ada.type('then');
        await expect.poll(() => ada.screen()).toContain('It was\n› then');
        go();
        await expect.poll(() => ada.screen()).toContain('It was this.\n\n› then');
        expect(ada.screen().match(/^›/gmu)).toHaveLength(continues ? 2 : 3); // the question, /resume, and one prompt
        expect(ada.screen()).toContain('other · scripted/scripted');
        expect(ada.screen()).not.toContain('No answer came');
        expect(chat.requests).toMatchObject([{ threadId: 'old-1', resume: true }]);
        ada.type('\u0015\u0004');
        expect(await ada.done).toBe(0);
      },
    );
  });

  it('K61 a command asks for a secret without showing or remembering it; Ctrl-C leaves the question', async () => {
    const given: (string | null)[] = [];
    const keep: Command = {
      path: 'keep',
      description: 'Keeps a secret',
      run: async (_input, io) => void given.push(await io.ask('KEY:', { secret: true })),
    };
    const chat = await scriptedChat([says('ok')], [keep]);
    const ada = person(chat);
    for (const typed of ['sk-unseen-7\\\r', '\u0003']) {
      await ada.sees('› ');
      await ada.type('/keep\r', 'KEY: ');
      ada.type(typed);
      await expect.poll(() => given.length).toBe(typed === '\u0003' ? 2 : 1);
    }
    await ada.sees('› ');
    await ada.type('\u001b[A\u001b[A\u001b[A', '/keep');
    ada.type('\u0015');
    await ada.end();
    expect(given).toEqual(['sk-unseen-7\\', null]);
    expect(ada.written()).not.toContain('sk-unseen-7');
    expect(chat.requests).toEqual([]);
  });

  it('U20 asks yes or no with one key, and prints above it what is longer than the line', async () => {
    const question = `Overwrite it with ${'its former content, '.repeat(8)}really?`;
    const asks: Command = {
      path: 'ask',
      description: 'Asks',
      run: async (_input, io) => io.print(`answered ${await io.ask(question, { choices: ['yes', 'no'] })}`),
    };
    const { ada } = await talking([says('ok')], [asks]);
    await ada.type('/ask\r', 'really?\n[y]es, [n]o');
    await ada.type('maybe\r', 'Answer with yes or no; Ctrl-C leaves the question');
    await ada.type('n', 'answered no');
    expect(await ada.end()).toBe(0);
  });

  it('is where notices of others are delivered while it is open', async () => {
    const chat = await scriptedChat([says('ok')]);
    expect(() => chat.terminals.deliver({ text: 'x', kind: 'notice' }, 'all')).toThrow('no terminal is open');
    const ada = person(chat);
    await ada.sees('Ctrl-D leaves');
    expect(chat.terminals.deliver({ text: 'the task is done', kind: 'notice' }, 'all')).toBe('terminal-1');
    await ada.sees('the task is done');
    const others = { text: 'of bob', kind: 'notice', userId: 'bob' };
    expect(() => chat.terminals.deliver(others, 'all')).toThrow('no terminal is open');
    expect(chat.terminals.deliver({ ...others, text: 'of this person', userId: 'local' }, 'all')).toBe('terminal-2');
    await ada.sees('of this person');
    expect(ada.screen()).not.toContain('of bob');
    await ada.end();
    expect(() => chat.terminals.deliver({ text: 'x', kind: 'notice' }, 'all')).toThrow('no terminal is open');
  });
});

describe('completion', () => {
  it('offers commands after a slash, and ids after those that take one', async () => {
    const chat = await scriptedChat([says('ok')]);
    const commands = await findCommands(chat.context);
    const sources = { commands: async () => commands, skills: async () => ['letters'], files: async () => [] };
    const at = (line: string) => complete(line, line.length, sources, new AbortController().signal);
    expect(await at('/agents l')).toEqual({ from: 0, items: ['/agents list '] });
    expect(await at('/age')).toEqual({ from: 0, items: ['/agents '] });
    expect(await at('/let')).toEqual({ from: 0, items: ['/letters '] });
    expect(await at('/agents show ot')).toEqual({ from: 13, items: ['other '] });
    expect(await at('/threads show --la')).toEqual({ from: 14, items: ['--last '] });
    expect(await at('/threads show ')).toEqual({ from: 14, items: ['old-1 '] });
    expect(await at('hello')).toEqual({ from: 0, items: [] });
  });
});

describe('thread ids', () => {
  it('are short, in the order of time and never the same', () => {
    const [first, second] = [newThreadId(1_700_000_000_000), newThreadId(1_700_000_000_001)];
    expect(first).toMatch(/^[0-9a-hjkmnp-tv-z]{8}-[0-9a-hjkmnp-tv-z]{4}$/u);
    expect(first < second).toBe(true);
    expect(newThreadId(5)).not.toBe(newThreadId(5));
  });
});
