import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { skillUsed } from 'pith/skill_registry';
import { scriptedModel } from 'pith/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { folderWith } from '../../places.ts';
import { agentFile, skillFile } from '../../journeys/sandbox-files.ts';
import { complete } from '../../../sandbox/extensions/cli_channel/completion.ts';
import { mentionedFiles, ProjectPaths } from '../../../sandbox/extensions/cli_channel/file-mentions.ts';
import { statusText, ThreadUsage } from '../../../sandbox/extensions/cli_channel/chat-status.ts';
import { answering, atPrompt, kernelChat, person, pipe, says, scriptedChat, talking, turn, type Chat } from './chats.ts';
import { png } from '../../fixtures/images.ts';
import { gate } from '../../waiting.ts';
import type { CommandIO, TurnEvent } from 'pith';
import { pickThread } from '../../../sandbox/extensions/cli_channel/opening.ts';

const signal = new AbortController().signal;
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

function project(): string {
  const folder = folderWith({
    'src/parser.ts': 'export const parse = 1;\n',
    'src/my notes.md': 'notes\n',
    '.env': 'KEY=secret-7\n',
    'ignored.log': 'noise\n',
    '.gitignore': '*.log\n',
    'blob.bin': '\0\u0001\u0002',
    'long.txt': 'ä'.repeat(200_000),
  });
  writeFileSync(path.join(folder, 'pixel.png'), PNG);
  return folder;
}

describe('U21 files of the project', () => {
  it.each([true, false])('U21 are completed after @, never secret ones; with git: %s', async (git) => {
    const folder = project();
    if (git) execFileSync('git', ['init', '-q'], { cwd: folder });
    const paths = new ProjectPaths(folder, true, { now: () => 0 });
    const all = await paths.list(signal);
    expect(all).toContain('src/parser.ts');
    expect(all).not.toContain('.env');
    expect(all).not.toContain('ignored.log');
    const sources = { commands: async () => [], skills: async () => [], files: () => paths.list(signal) };
    const at = (text: string) => complete(text, text.length, sources, signal);
    expect(await at('see @sr')).toEqual({ from: 4, items: ['@src/'] });
    expect(await at('see @src/pa')).toEqual({ from: 4, items: ['@src/parser.ts '] });
    expect(await at('@notes')).toEqual({ from: 0, items: ['@"src/my notes.md"'] });
    expect(await at('me@src')).toEqual({ from: 0, items: [] });
  });

  it('U21 are attached when a message names them: texts, images, the beginning of long ones; nothing secret', async () => {
    const folder = project();
    const message = 'Compare @src/parser.ts, @"src/my notes.md" and (@pixel.png). @.env @blob.bin @long.txt @../x @nobody me@src/parser.ts';
    const { attachments, lines } = await mentionedFiles(message, folder);
    expect(attachments.slice(0, 3)).toEqual([
      { name: 'src/parser.ts', text: 'export const parse = 1;\n' },
      { name: 'src/my notes.md', text: 'notes\n' },
      { name: 'pixel.png', image: { mediaType: 'image/png', data: PNG.toString('base64') } },
    ]);
    expect(attachments).toHaveLength(4);
    const long = attachments[3] as { text: string };
    expect(long.text).toMatch(/^ä{131072}\n\[The rest is left out/u);
    expect(lines.filter(({ outcome }) => outcome !== 'attached').map(({ text }) => text)).toEqual([
      '.env is not attached: it may contain secrets',
      'blob.bin is not attached: it is neither text nor an image',
      '../x is not attached: there is no such file',
    ]);
  });

  it('V11 are attached as images where their bytes are one, and not at all where a picture is meant and none is there', async () => {
    const long = png(2, 2, 300_000);
    const files: Record<string, string | Buffer> = {
      'a.png': 'version https://git-lfs.github.com/spec/v1\n',
      'b.jpg': png(),
      c: long,
      'd.heic': '\0\0\0\x18ftypheic',
      'e.svg': '<svg/>',
    };
    const folder = folderWith();
    for (const [name, content] of Object.entries({ ...files, 'f.png': long.subarray(0, 290_000), 'g.png': png(1, 8001) }))
      writeFileSync(path.join(folder, name), content);
    const { attachments, lines } = await mentionedFiles('@a.png @b.jpg @c @d.heic @e.svg @f.png @g.png', folder);
    expect(attachments).toEqual([
      { name: 'b.jpg', image: { mediaType: 'image/png', data: png().toString('base64') } },
      { name: 'c', image: { mediaType: 'image/png', data: long.toString('base64') } },
      { name: 'e.svg', text: '<svg/>' },
    ]);
    expect(lines.filter(({ outcome }) => outcome !== 'attached').map(({ text }) => text)).toEqual([
      expect.stringMatching(/^a\.png is not attached: it is a Git LFS pointer/u),
      expect.stringMatching(/^d\.heic is not attached: it is a HEIC image/u),
      'f.png is not attached: it is cut off, or damaged',
      'g.png is not attached: it has 1 × 8001 pixels; servers take at most 8000 on a side',
    ]);
  });

  it('U21 says of a path that names no file that nothing goes along, and leaves words alone', async () => {
    const folder = project();
    const { attachments, lines } = await mentionedFiles('@src/missing.ts, @src and @src/ for @ada, missing @notes.txt.', folder);
    expect(attachments).toEqual([]);
    expect(lines.map(({ text }) => text)).toEqual([
      'src/missing.ts is not attached: there is no such file',
      'src is not attached: it is a folder; name a file in it',
      'src/ is not attached: it is a folder; name a file in it',
      'notes.txt is not attached: there is no such file',
    ]);
  });

  it('U-7 are attached where a whole path is typed, dropped or pasted, wherever it is; words that only look like one stay words', async () => {
    const folder = project();
    const other = folderWith({ 'notes.txt': 'far\n', '.ssh/id_rsa': 'key', 'log.txt': 'x'.repeat(70_000), 'big.png': 'no picture' });
    for (const name of ["my picture's.png", 'plain.png']) writeFileSync(path.join(other, name), PNG);
    const picture = `${other}/my picture's.png`;
    const image = { mediaType: 'image/png', data: PNG.toString('base64') };
    for (const written of [
      picture.replaceAll(/[ ']/gu, String.raw`\$&`),
      `'${picture.replaceAll("'", String.raw`'\''`)}'`,
      `"${picture}"`,
      `@"${picture}"`,
      pathToFileURL(picture).href,
    ])
      expect((await mentionedFiles(`see ${written} `, folder)).attachments, written).toEqual([{ name: expect.any(String), image }]);
    const said = `Is ${other}/notes.txt like (${other}/plain.png)? ${other}/.ssh/id_rsa, ${other}, ${other}/none.png, ${other}/log.txt, ${other}/big.png, a/b`;
    const { attachments, lines } = await mentionedFiles(said, folder);
    expect(attachments.map(({ name }) => path.basename(name))).toEqual(['notes.txt', 'plain.png']);
    expect(lines.slice(0, 2).map(({ text }) => text)).toEqual([
      `${other}/notes.txt attached (4 bytes)`,
      `${other}/plain.png attached (${PNG.length} bytes)`,
    ]);
    expect(lines.slice(2)).toEqual([
      { outcome: 'secret', text: `${other}/.ssh/id_rsa is not attached: it may contain secrets` },
      { outcome: 'word', text: `${other}/log.txt is not attached: it has more than 64 KB; write @ before it to send it` },
      { outcome: 'refused', text: expect.stringContaining('big.png is not attached') },
    ]);
  });

  it('U-7 do not go along by a whole path alone from where programs keep secrets in a home folder', async () => {
    const home = folderWith({ '.claude.json': 'token', '.config/gh/config.yml': 'gh', '.bashrc': 'plain' });
    vi.spyOn(os, 'homedir').mockReturnValue(home);
    onTestFinished(() => void vi.restoreAllMocks());
    const { attachments, lines } = await mentionedFiles('~/.claude.json ~/.config/gh/config.yml ~/.bashrc @"~/.claude.json"', project());
    expect(attachments.map(({ name }) => name)).toEqual(['~/.bashrc']);
    expect(lines.slice(0, 2)).toEqual([
      { outcome: 'secret', text: '~/.claude.json is not attached: programs keep secrets there; write @ before it to send it' },
      { outcome: 'secret', text: expect.stringContaining('programs keep secrets there') },
    ]);
  });

  it('U-7 a message whose file cannot go along is not sent: it comes back with the reason, and the same once more goes', async () => {
    const folder = project();
    const { ada, chat } = await talking([says('ok')], [], { workingDirectory: folder, columns: 160 });
    const named = ['@blob.bin', `${folder}/.env`];
    for (const name of named) {
      await ada.type(`see ${name}\r`, `${path.basename(name).replace('@', '')} is not attached`, 'Not sent', '› see ');
      await ada.type('\r', 'ok', '› ');
    }
    await ada.end();
    await expect(pipe(chat, ['-p', `see ${folder}/.env`])).rejects.toMatchObject({ code: 'usage' });
    const refused = pipe(chat, ['-p', `see @${process.execPath}`]);
    await expect(refused).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('is not sent') });
    expect(chat.requests.map(({ input }) => input)).toEqual(named.map((name) => `see ${name}`));
  });

  it('U21 go with the message, and the terminal says so', async () => {
    const folder = project();
    const { ada, chat } = await talking([says('ok')], [], { workingDirectory: folder });
    await ada.type('explain @src/parser.ts\r', '✓ src/parser.ts attached (24 bytes)', 'ok');
    await ada.end();
    expect(chat.requests[0]).toMatchObject({
      input: 'explain @src/parser.ts',
      attachments: [{ name: 'src/parser.ts', text: 'export const parse = 1;\n' }],
    });
  });
});

describe('U22 the status line', () => {
  const status = {
    model: 'test/model',
    effort: null,
    agent: 'main',
    context: 4100,
    percent: 12,
    tokens: 12_345,
    cost: 0.04,
    tasks: 1,
    questions: 2,
  };
  it.each([
    [100, 'test/model · main · context 4.1k (12%) · used 12.3k tokens $0.040 · 1 task · 2 questions'],
    [50, 'test/model · main · context 4.1k (12%)'],
    [30, ''],
  ])('U22 in %i columns', (columns, line) => expect(statusText(status, columns)).toBe(line));

  it('shows the thinking effort that was chosen', () =>
    expect(statusText({ ...status, effort: 'low' }, 40)).toBe('test/model (effort low) · main'));

  it('U22 shows what the thread has used, tasks and questions; a cost only where a price is set', async () => {
    const of = (inputTokens: number, outputTokens: number, cost?: number) => ({ inputTokens, outputTokens, ...(cost && { cost }) });
    const answer = (costs: readonly number[]) =>
      turn(
        'ok',
        { type: 'step-end', step: 1, usage: of(400, 50), request: of(400, 50, costs[0]) },
        { type: 'step-end', step: 2, usage: of(1300, 150), request: of(900, 100, costs[1]) },
      );
    const running = { ...answering('tasks list', [{ id: 'a' }]), options: [{ name: 'state', type: 'string', description: '' } as const] };
    for (const [costs, line] of [
      [[], 'test/model · main · context 1k (10%) · used 1.4k tokens · 1 task'],
      [[0.009, 0.019], 'test/model · main · context 1k (10%) · used 1.4k tokens $0.028 · 1 task'],
    ] as const) {
      const chat = await scriptedChat([answer(costs)], [running]);
      chat.terminals.saw({ model: { ref: 'test/model', contextWindow: 10_000 } });
      const ada = await atPrompt(asksExtraFirst(chat));
      ada.type('go\r');
      await expect.poll(() => ada.screen().split('\n').at(-1)).toBe(line);
      await ada.end();
      expect(ada.screen()).not.toContain('tokens');
    }
  });
});

describe('U23 steps', () => {
  const called = (id: string, command: string) => ({ type: 'tool-call', id, name: 'shell', input: { command } }) as const;
  const prints = (id: string, text: string) => ({ type: 'tool-output', id, text }) as const;
  const ended = (id: string, line: string, output = '') =>
    ({ type: 'tool-result', id, name: 'shell', ok: true, at: 1, output, line }) as const;
  const lines = Array.from({ length: 30 }, (_, index) => prints('c', `line ${index + 1}\n`));
  const working = (open: Promise<void>) =>
    turn(called('c', 'npm test'), ...lines, () => open, ended('c', 'npm test', 'exit 0\nall passed'), 'Done.');

  it('U23 are one line each; /expand shows what went in and came out', async () => {
    const { ada } = await talking([working(Promise.resolve())]);
    await ada.type('test it\r', 'Done.');
    await ada.type('/expand\r', '✓ 1. npm test (shell)', 'command: npm test', '… 10 more lines: /expand 1', 'all passed');
    await ada.type('/expand 2\r', "there is no step '2'");
    expect(await ada.end()).toBe(0);
  });

  it('U23 lines of calls that run side by side are not mixed', async () => {
    const of = <T>(event: (id: string) => T) => ['a', 'b'].map(event);
    const both = turn(
      ...of((id) => called(id, id)),
      ...of((id) => prints(id, 'one ')),
      ...of((id) => prints(id, `line of ${id}\n`)),
      ...of((id) => ended(id, id)),
    );
    const { ada } = await talking([both], [], { words: ['--plain'] });
    await ada.type('go\n', '  one line of a\n', '  one line of b\n');
    expect(await ada.end()).toBe(0);
  });

  it('U23 --plain prints lines as they come, and draws nothing again', async () => {
    const { opened, open } = gate();
    const { ada } = await talking([working(opened)], [], { words: ['--plain'] });
    await ada.type('test it\n', '  line 30\n');
    open();
    await ada.sees('✓ npm test', 'Done.');
    expect(await ada.end()).toBe(0);
    expect(ada.written().match(/line 17\n/gu)).toHaveLength(1);
    expect(ada.raw()).not.toContain('\u001b');
  });
});

it('U24 a result arrives as a rendered block, after the paragraph that is being written', async () => {
  const { opened, open: more } = gate();
  const answer = turn('First par', () => opened, 'agraph.\n\nSecond one.');
  const { ada, chat } = await talking([answer]);
  await ada.type('go\r', 'First');
  chat.terminals.deliver({ text: 'Task a is done:\n\n- **one**\n- two', kind: 'task' }, 'all');
  await new Promise((resolve) => setImmediate(resolve));
  expect(ada.screen()).not.toContain('Task a');
  more();
  await ada.sees('Second one.');
  expect(ada.screen()).toContain('First paragraph.\n\n● Task a is done:\n\n  • one\n  • two\n');
  await ada.end();
});

describe('U25 commands of the conversation', () => {
  it('U25 /help is one screen, in groups; /help all lists everything', async () => {
    const chat = await scriptedChat([says('ok')]);
    const { out } = await pipe(chat, ['-p', '/help']);
    const lines = out.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(out).toMatch(/^Conversation .*\/clear.*$/mu);
    expect((await pipe(chat, ['-p', '/help all'])).out).toMatch(/^ {2}\/agents list /mu);
  });

  it.each(['exit', 'quit', '/exit', '/quit'])('U25 %s leaves', async (word) => {
    const { ada, chat } = await talking([says('ok')]);
    ada.type(`${word}\r`);
    expect(await ada.done).toBe(0);
    expect(chat.requests).toEqual([]);
  });

  it('U25 /clear begins a new conversation on a clear screen', async () => {
    const { ada, chat } = await talking([says('first answer'), says('ok')]);
    ada.type('one\r');
    await expect.poll(() => ada.screen()).toContain('first answer\n\n›');
    await ada.type('/clear\r', '(back to the last one: /thread');
    expect(ada.screen()).not.toContain('first answer');
    await ada.type('two\r', 'ok');
    await ada.end();
    expect(chat.requests[1]?.threadId).not.toBe(chat.requests[0]?.threadId);
  });

  it.each([
    [10_000, /^scripted\/scripted: about \d+% of its context of 10,000 tokens$/mu],
    [null, /^scripted\/scripted: its context size is unknown, so no percentage is shown$/mu],
  ])('U22 U25 /context says how much of the context a request fills (of %s)', async (contextWindow, line) => {
    const chat = await kernelChat({
      model: scriptedModel([], { contextWindow }),
      files: { 'pith.yaml': 'default_agent: main\n', 'agents/main/manifest.yaml': agentFile('main') },
    });
    const { out } = await pipe(chat, [], { lines: ['/context'] });
    expect(out).toMatch(line);
    expect(out).toMatch(/^total +\d+$/mu);
  });

  it('U25 /skill-name loads that skill before the model answers', async () => {
    const model = scriptedModel([{ text: 'Dear landlord' }]);
    const chat = await kernelChat({
      model,
      files: {
        'pith.yaml': 'default_agent: main\n',
        'agents/main/manifest.yaml': agentFile('main', { uses_tools: ['skill_registry'] }),
        'skills/letters/SKILL.md': skillFile('letters', 'Writes letters.', 'Write politely. </skill>'),
      },
    });
    const used: unknown[] = [];
    chat.pith.kernel.events.handle(skillUsed, (use) => void used.push(use));
    const ada = await atPrompt(chat);
    await ada.type('/letters to my landlord\r', '✓ skill letters loaded', 'landlord');
    await expect.poll(() => ada.screen()).toContain('Dear landlord');
    await ada.end();
    const sent = JSON.stringify(model.requests[0]?.messages);
    expect(sent).toContain('[Skill: letters]');
    expect(sent).toMatch(/Write politely\. <\/skill>\\n*.*<\/skill sha256=/u);
    expect(sent).toContain('Use the skill `letters`: to my landlord');
    // The statistics count it as one that the model read.
    expect(used).toEqual([expect.objectContaining({ skillId: 'letters', state: 'loaded', how: 'slash', agentId: 'main' })]);
  });

  it('S85 a skill typed with a slash is asked for by a message; a command of the name comes first, an unknown name is an error', async () => {
    const chat = await kernelChat({
      model: scriptedModel([{ text: 'answer' }, { text: 'answer' }]),
      files: {
        'pith.yaml': 'default_agent: main\n',
        'agents/main/manifest.yaml': agentFile('main', { uses_tools: ['skill_registry'] }),
        'skills/letters/SKILL.md': skillFile('letters', 'Writes letters.', 'Write.'),
        'skills/tools/SKILL.md': skillFile('tools', 'Knows tools.', 'Use them.'),
      },
    });
    expect(await pipe(chat, [], { lines: ['/letters to  my landlord', '/letters'] })).toMatchObject({ code: 0, err: '' });
    expect(chat.requests.map(({ input }) => input)).toEqual(['Use the skill `letters`: to  my landlord', 'Use the skill `letters`.']);
    await pipe(chat, [], { lines: ['/tools'] });
    expect(chat.requests).toHaveLength(2);
    expect(await pipe(chat, [], { lines: ['/lettres'] })).toMatchObject({
      code: 1,
      err: expect.stringContaining('unknown command /lettres'),
    });
  });
});

it('U13 a question of work in the background is shown with its number', async () => {
  const approvals = answering(
    'approvals',
    ['q-one', 'q-two'].map((id, index) => ({ id, number: 5 + 3 * index })),
  );
  const chat = await scriptedChat([says('ok')], [approvals]);
  const ada = person(asksExtraFirst(chat));
  await ada.sees('Ctrl-D leaves');
  chat.terminals.deliver({ text: 'asks; answer with: pith approvals approve q-two', kind: 'approval', approvalId: 'q-two' }, 'all');
  await ada.sees('approve 8');
  expect(ada.screen()).not.toContain('q-two');
  await ada.end();
});

/** The commands of this test come before the kernel's. */
function asksExtraFirst(chat: Chat, config: object = chat.context.config): Chat {
  const find = (protocol: never) =>
    [...chat.context.find(protocol)].sort((a, b) => Number(b.extensionId === 'extra') - Number(a.extensionId === 'extra'));
  return { ...chat, context: { ...chat.context, config, find } as typeof chat.context };
}

const NOW = new Date(2026, 6, 28, 18, 30).getTime();
const TODAY = new Date(2026, 6, 28, 14, 5).getTime();
const BEFORE = new Date(2026, 6, 27, 9, 3).getTime();

function picker(answers: string[]) {
  const lines: string[] = [];
  const io = { columns: 80, print: (line: string) => void lines.push(line), ask: async () => answers.shift() ?? null };
  const place = { io: io as unknown as CommandIO, clock: { now: () => NOW } };
  const list = answering('threads list', [
    { id: 'a', title: 'Tea', updatedAt: TODAY },
    { id: 'a/1', title: 'of an agent', updatedAt: TODAY },
    { id: 'b', title: 'Coffee', updatedAt: BEFORE },
    { id: 'b.2', title: 'Coffee', branchOf: 'b', updatedAt: BEFORE },
  ]);
  return {
    lines,
    pick: () =>
      pickThread([{ ...list, options: [{ name: 'limit', type: 'number', description: '' }] }], place, new AbortController().signal),
  };
}

it('U23 U30 the list of conversations names the hour of today, the day of others, and branches', async () => {
  const { lines, pick } = picker(['9', '2']);
  expect(await pick()).toBe('b');
  expect(lines).toEqual([
    '  1  14:05             Tea',
    '  2  2026-07-27 09:03  Coffee',
    '  3  2026-07-27 09:03  Coffee (branch 2)',
    'Type a number from 1 to 3.',
  ]);
});

it('U30 an empty answer chooses none', async () => {
  expect(await picker(['']).pick()).toBeNull();
});

const start = (turn: string, thread = 't'): TurnEvent => ({ type: 'turn-start', agent: 'main', thread, turn, model: 'm/one' });
/** `usage` has what called agents used in it; `request` has not. */
const step = (inputTokens: number, outputTokens: number): TurnEvent => ({
  type: 'step-end',
  step: 1,
  usage: { inputTokens: 9000, outputTokens: 9000 },
  request: { inputTokens, outputTokens },
});

it('U22 a step counts with its own request, until what is stored is read, which has it too', () => {
  const usage = new ThreadUsage();
  for (const event of [start('1'), step(100, 10), step(150, 20)]) usage.observe(event);
  expect(usage).toMatchObject({ tokens: 280, lastRequest: 170 });
  usage.load('t', [{ inputTokens: 250, outputTokens: 30 }]);
  expect(usage).toMatchObject({ tokens: 280, lastRequest: 170 });
  usage.observe(start('2', 'other'));
  expect(usage).toMatchObject({ tokens: 0, lastRequest: 0 });
});

it('U22 the cost is that of each model that answered, and none where one has no price', () => {
  const usage = new ThreadUsage();
  const one = { inputTokens: 1000, outputTokens: 100, cost: 0.5 };
  usage.load('t', [one, { inputTokens: 100, outputTokens: 10, cost: 0.25 }, { inputTokens: 0, outputTokens: 0 }]);
  expect(usage).toMatchObject({ tokens: 1210, cost: 0.75 });
  usage.load('t', [one, { inputTokens: 1, outputTokens: 0 }]);
  expect(usage).toMatchObject({ tokens: 1101, cost: null });
});
