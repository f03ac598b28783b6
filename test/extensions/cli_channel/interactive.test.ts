import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'pith';
import { describe, expect, it } from 'vitest';
import { completeLine } from '../../../sandbox/extensions/cli_channel/query.ts';
import { newThreadId } from '../../../sandbox/extensions/cli_channel/conversation.ts';
import { answering, fakeChat, fails, hangs, kernelCommands, person, says, USAGE, type Answer, type Chat } from './fakes.ts';

let chat: Chat;

describe('a conversation on a terminal', () => {
  it('opens with who, which model and how to leave; shows answers and steps; says how to go on', async () => {
    chat = await fakeChat([
      says(
        'The **answer**',
        { type: 'tool-call', id: 'c', name: 'read_skill', input: {} },
        { type: 'tool-result', id: 'c', name: 'read_skill', ok: true, at: 1, output: '', line: 'Skill pdf loaded' },
      ),
    ]);
    const ada = person(chat);
    await ada.sees('main · test/model · /help lists commands, Ctrl-D leaves');
    await ada.sees('› ');
    ada.type('hello\r');
    await ada.sees('✓ Skill pdf loaded 0 ms\nThe answer\n');
    await ada.sees('› ');
    ada.type('\u0004');
    await ada.sees(`Go on later with: pith chat --thread ${chat.requests[0]?.threadId}`);
    expect(await ada.done).toBe(0);
    expect(ada.screen()).not.toContain('No model is connected');
  });

  it('takes a terminal that does not know its width for one of 80', async () => {
    chat = await fakeChat([says('one two three four')]);
    const ada = person(chat, [], undefined, 0);
    await ada.sees('› ');
    ada.type('hello\r');
    await ada.sees('one two three four\n');
    ada.end();
    expect(await ada.done).toBe(0);
  });

  it('says how to connect a model when there is none', async () => {
    chat = await fakeChat([says('ok')], kernelCommands('offline/librarian'));
    const ada = person(chat);
    await ada.sees('No model is connected');
    await ada.sees('ANTHROPIC_API_KEY or OPENAI_API_KEY');
    await ada.sees('› ');
    ada.type('/quit\r');
    expect(await ada.done).toBe(0);
  });

  it('shows a notice once and an error clearly', async () => {
    const notice = { type: 'notice', code: 'degraded', message: 'kv is off' } as const;
    chat = await fakeChat([says('one', notice), says('two', notice), fails]);
    const ada = person(chat);
    for (const [said, seen] of [
      ['a', 'one'],
      ['b', 'two'],
      ['c', 'pith: the key was refused'],
    ] as const) {
      await ada.sees('› ');
      ada.type(`${said}\r`);
      await ada.sees(seen);
    }
    ada.end();
    await ada.done;
    expect(ada.screen().match(/kv is off/gu)).toHaveLength(1);
  });

  it('Ctrl-C stops the turn and the conversation goes on; twice on an empty line it leaves', async () => {
    chat = await fakeChat([hangs, says('here again')]);
    const ada = person(chat);
    await ada.sees('› ');
    ada.type('work\r');
    await expect.poll(() => chat.requests.length).toBe(1);
    ada.type('\u0003');
    await ada.sees('Stopped');
    await ada.sees('› ');
    ada.type('hello\r');
    await ada.sees('here again');
    await ada.sees('› ');
    ada.type('\u0003');
    await ada.sees('Ctrl-C again or Ctrl-D leaves');
    ada.type('\u0003');
    expect(await ada.done).toBe(0);
  });

  it('ends when the process is asked to, in the middle of a turn', async () => {
    chat = await fakeChat([hangs]);
    const abort = new AbortController();
    const ada = person(chat, [], abort.signal);
    await ada.sees('› ');
    ada.type('work\r');
    await expect.poll(() => chat.requests.length).toBe(1);
    abort.abort();
    expect(await ada.done).toBe(130);
  });

  it('keeps what is pasted as one message, and lines that end in a backslash', async () => {
    chat = await fakeChat([says('ok')]);
    const ada = person(chat);
    await ada.sees('› ');
    ada.type('\u001b[200~first\rsecond\rthird\u001b[201~');
    ada.type('\r');
    await ada.sees('ok');
    await ada.sees('› ');
    ada.type('one \\\rtwo\r');
    await ada.sees('ok');
    ada.end();
    await ada.done;
    expect(chat.requests.map(({ input }) => input)).toEqual(['first\nsecond\nthird', 'one \ntwo']);
  });

  it('keeps what is typed during an answer for the next message', async () => {
    chat = await fakeChat([hangs, says('second answer')]);
    const ada = person(chat);
    await ada.sees('› ');
    ada.type('first\r');
    await expect.poll(() => chat.requests.length).toBe(1);
    ada.type('second\r');
    ada.type('\u0003');
    await ada.sees('second answer');
    ada.end();
    await ada.done;
    expect(chat.requests.map(({ input }) => input)).toEqual(['first', 'second']);
  });

  it('leaves no listener on the streams of the process', async () => {
    chat = await fakeChat([says('ok')]);
    const ada = person(chat);
    await ada.sees('› ');
    expect(ada.listeners()).toContain('resize');
    ada.type('\u0004');
    await ada.done;
    expect(ada.listeners()).toEqual([]);
  });

  it('tells of an edit that could not be loaded: at the prompt at once, during an answer after it', async () => {
    chat = await fakeChat([hangs]);
    const ada = person(chat);
    const failure = (message: string) => ({
      extensionId: 'kv',
      phase: 'reload' as const,
      code: 'x',
      message,
      at: 0,
      file: '/s/kv/main.ts',
      line: 3,
    });
    await ada.sees('› ');
    chat.tell('extension.failed', failure('first'));
    await ada.sees('kv /s/kv/main.ts:3: first');
    ada.type('hi\r');
    await expect.poll(() => chat.requests.length).toBe(1);
    chat.tell('extension.failed', failure('second'));
    chat.tell('extension.failed', { ...failure('a tool failed'), phase: 'tool call' });
    expect(ada.screen()).not.toContain('second');
    chat.tell('problem.found', { severity: 'warning', code: 'unknown_key', message: 'a wrong key', file: '/s/pith.yaml', cure: 'look' });
    ada.type('\u0003');
    await ada.sees('second');
    await ada.sees('/s/pith.yaml: a wrong key; look');
    expect(ada.screen()).not.toContain('a tool failed');
    ada.end();
    await ada.done;
  });

  it('says what an edit left wrong once: no notice of a turn says it again', async () => {
    const slip = { code: 'unknown_key', message: 'a wrong key', cure: 'look' };
    chat = await fakeChat([says('ok', { type: 'notice', code: slip.code, message: 'a wrong key; look' })]);
    const ada = person(chat);
    await ada.sees('› ');
    chat.tell('problem.found', { ...slip, severity: 'warning', file: '/s/pith.yaml', line: 2 });
    await ada.sees('/s/pith.yaml:2: a wrong key; look');
    ada.type('hi\r');
    await ada.sees('ok');
    ada.end();
    await ada.done;
    expect(ada.screen().match(/a wrong key/gu)).toHaveLength(1);
  });

  it('prints JSON in one line, and leaves it to a reload command to say that it failed', async () => {
    const failing: Command = {
      ...answering('extensions reload', null),
      run: async (_input, io) => {
        chat.tell('extension.failed', { extensionId: 'kv', phase: 'reload', code: 'x', message: 'said twice', at: 0 });
        io.error('said once');
      },
    };
    const long = { words: 'many words '.repeat(20) };
    chat = await fakeChat([says('ok')], [...kernelCommands(), failing, answering('long', long)]);
    const ada = person(chat);
    await ada.sees('› ');
    ada.type('/long --json\r');
    await ada.sees(`${JSON.stringify(long)}\n`);
    ada.type('/extensions reload\r');
    await ada.sees('said once');
    await ada.sees('› ');
    expect(ada.screen()).not.toContain('said twice');
    ada.end();
    await ada.done;
  });

  it('breaks errors, notices and /help between words', async () => {
    const words = 'extraordinary '.repeat(12).trim();
    const failing: Answer = async function* () {
      yield { type: 'notice', code: 'x', message: words };
      yield { type: 'turn-end', reason: 'error', text: '', usage: USAGE, error: { code: 'x', message: words } };
    };
    chat = await fakeChat([failing], [...kernelCommands(), { ...answering('odd', null), description: words }]);
    const ada = person(chat, [], undefined, 60);
    await ada.sees('› ');
    ada.type('hi\r');
    await ada.sees('pith: extraordinary');
    await ada.sees('› ');
    ada.type('/help\r');
    await ada.sees('/quit');
    await ada.sees('› ');
    ada.end();
    await ada.done;
    const lines = ada.screen().split(/\r?\n/u);
    expect(lines.filter((line) => line.length > 60)).toEqual([]);
    for (const line of lines.filter((each) => each.includes('extraord'))) expect(line).toMatch(/^(?:[^x]*)(?:extraordinary ?)+$/u);
  });

  it('Up stays at the oldest line, and Ctrl-D ends the line of the prompt', async () => {
    chat = await fakeChat([says('ok')]);
    const ada = person(chat);
    await ada.sees('› ');
    ada.type('alpha\r');
    await ada.sees('ok');
    await ada.sees('› ');
    ada.type('\u001b[A');
    ada.type('\u001b[A');
    ada.type('\u001b[A');
    ada.type('\r');
    await expect.poll(() => chat.requests.map(({ input }) => input)).toEqual(['alpha', 'alpha']);
    await ada.sees('ok');
    await ada.sees('› ');
    ada.type('\u0004');
    await ada.done;
    expect(ada.screen()).toMatch(/› \n/u);
  });

  it('keeps a history for the next conversation', async () => {
    chat = await fakeChat([says('ok')]);
    for (const said of ['alpha', 'beta']) {
      const ada = person(chat);
      await ada.sees('› ');
      ada.type(`${said}\r`);
      await ada.sees('ok');
      ada.end();
      await ada.done;
    }
    expect(await readFile(path.join(chat.folder, 'data/history'), 'utf8')).toBe('"alpha"\n"beta"\n');
    const ada = person(chat);
    await ada.sees('› ');
    ada.type('\u001b[A\u001b[A\r');
    await ada.sees('ok');
    ada.end();
    await ada.done;
    expect(chat.requests.at(-1)?.input).toBe('alpha');
  });

  it('K45 --thread shows the last lines of the conversation', async () => {
    chat = await fakeChat([says('ok')]);
    const ada = person(chat, ['--thread', 'old-1']);
    await ada.sees('other · test/model');
    await ada.sees('› What was it?');
    await ada.sees('It was **this**.');
    ada.end();
    expect(await ada.done).toBe(0);
  });

  it('K61 a command asks for a secret without showing or remembering it; Ctrl-C leaves the question', async () => {
    const given: (string | null)[] = [];
    const keep: Command = {
      path: 'keep',
      description: 'Keeps a secret',
      run: async (_input, io) => void given.push(await io.ask('KEY:', { secret: true })),
    };
    chat = await fakeChat([says('ok')], [...kernelCommands(), keep]);
    const ada = person(chat);
    for (const typed of ['sk-unseen-7\\\r', '\u0003']) {
      await ada.sees('› ');
      ada.type('/keep\r');
      await ada.sees('KEY: ');
      ada.type(typed);
      await expect.poll(() => given.length).toBe(typed === '\u0003' ? 2 : 1);
    }
    await ada.sees('› ');
    ada.type('\u001b[A\u001b[A\u001b[A');
    await ada.sees('/keep');
    ada.type('\u0015');
    ada.end();
    await ada.done;
    expect(given).toEqual(['sk-unseen-7\\', null]);
    expect(ada.screen()).not.toContain('sk-unseen-7');
    expect(chat.requests).toEqual([]);
  });

  it('is where notices of others are delivered while it is open', async () => {
    chat = await fakeChat([says('ok')]);
    expect(() => chat.terminals.deliver({ text: 'x', kind: 'notice' }, 'all')).toThrow('no terminal is open');
    const ada = person(chat);
    await ada.sees('› ');
    expect(chat.terminals.deliver({ text: 'the task is done', kind: 'notice' }, 'all')).toBe('terminal-1');
    await ada.sees('the task is done');
    ada.end();
    await ada.done;
    expect(() => chat.terminals.deliver({ text: 'x', kind: 'notice' }, 'all')).toThrow('no terminal is open');
  });
});

describe('completion', () => {
  it('offers commands after a slash, and ids after those that take one', async () => {
    const complete = (line: string) => completeLine(line, kernelCommands(), new AbortController().signal);
    expect(await complete('/sk')).toEqual([['/skills list'], '/sk']);
    expect(await complete('/agent o')).toEqual([['other'], 'o']);
    expect(await complete('/thread ')).toEqual([['tasks/abcdefghij', 'old-1/call', 'old-1'], '']);
    expect(await complete('hello')).toEqual([[], 'hello']);
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
