import { isAllowed, readAllowList } from '../../../sandbox/extensions/cli_channel/allow-list.ts';
import pc from 'picocolors';
import type { Command } from 'pith';
import { scriptedModel, type ScriptedStep, type TestKernelOptions } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { questionLines } from '../../../core/cli/index.ts';
import { linesOf } from '../../journeys/pith-process.ts';
import { agentFile, extensionFiles } from '../../journeys/sandbox-files.ts';
import { atPrompt, kernelChat, person, pipe, talking } from './chats.ts';
import { printedHints } from '../../../sandbox/extensions/cli_channel/commands.ts';
import { folderWith, kernelOf } from '../../places.ts';
import { within } from '../../waiting.ts';

const RISKY = extensionFiles('risky', {
  provides: ['tool'],
  main: `
import { defineTool, z } from 'pith';
const lines = (sign, word) => Array.from({ length: 60 }, (_, index) => sign + word + ' ' + index).join('\\n');
const DIFF = '--- a/a.ts\\n+++ b/a.ts\\n@@ -1,60 +1,60 @@\\n' + lines('+', 'new') + '\\n' + lines('-', 'old') + '\\n';
export default class {
  getTools() {
    return [defineTool({ name: 'arm', description: 'Arms.', input: z.object({ long: z.string() }), needsApproval: () => ({ text: 'arms it\\nfor \u202egood', once: true }), execute: async () => 'armed' }), defineTool({ name: 'launch', description: 'Launches.', input: z.object({ what: z.string() }), needsApproval: true, execute: async ({ what }) => 'launched ' + what }), defineTool({ name: 'edit', description: 'Edits.', input: z.object({}), needsApproval: () => ({ summary: 'change 60 lines in a.ts', text: DIFF, once: true }), execute: async () => 'edited' }), defineTool({ name: 'shell', description: 'Runs.', input: z.object({ command: z.string() }), needsApproval: ({ command }) => ({ text: command, always: { key: 'command:' + command.split(' ').slice(0, 2).join(' '), covers: 'such commands' } }), execute: async ({ command }) => 'ran ' + command }), defineTool({ name: 'write', description: 'Writes.', input: z.object({ path: z.string() }), needsApproval: ({ path }) => ({ text: path, always: { key: 'write:' + path.split('/').slice(0, -1).join('/'), covers: 'the folder' } }), execute: async ({ path }) => 'wrote ' + path })];
  }
}
`,
});
const FILES = { ...RISKY, 'agents/main/manifest.yaml': agentFile('main', { uses_tools: ['risky'] }), 'pith.yaml': 'default_agent: main\n' };
const launch = (what: string): ScriptedStep => ({ calls: [{ name: 'launch', input: { what } }] });

const ALLOW = 'Allow? [y]es, [a]lways in this chat (every call of launch), [n]o, [e]xplain no, [v]iew all, [?]';
const ALLOW_ONCE = 'Allow? [y]es, [n]o, [e]xplain no, [v]iew all, [?]';
/** So that no question is broken into rows. */
const WIDE = { columns: 160 };

async function chatting(script: readonly ScriptedStep[], options: TestKernelOptions = {}) {
  const model = scriptedModel(script);
  const chat = await kernelChat({ files: FILES, only: [], model, ...options });
  const lastTool = () => JSON.stringify(model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool'));
  return { pith: chat.pith, chat, lastTool };
}

/** The same with a person at the terminal, whose message has led to this question. */
async function asked(script: readonly ScriptedStep[], question = ALLOW, options: TestKernelOptions = {}) {
  const made = await chatting(script, options);
  const user = await atPrompt(made.chat, [], WIDE);
  await user.type('go\n', question);
  return { ...made, user };
}

/** A question of `arm` about a long text, as the kernel keeps it. */
async function questionAbout(input: { readonly long: string; readonly other?: string }): Promise<Parameters<typeof questionLines>[0]> {
  const { pith } = await chatting([{ calls: [{ name: 'arm', input }] }]);
  await pith.run('go');
  const [open] = await pith.kernel.approvals.list();
  return open!;
}

describe('a tool asks the person at the terminal', () => {
  it('U10 U11 K50 shows what it does, the exact arguments and what is enforced; one key runs it and the turn goes on', async () => {
    const { chat, lastTool } = await chatting([launch('it \u001b[2J\u202egnp'), { text: 'It flies.' }]);
    const user = await atPrompt(chat, [], WIDE);
    await user.type('go\n', 'run launch of risky', 'what: "it \\u001b[2J\\u{202e}gnp"', 'not sandboxed: sees what you see', ALLOW);
    expect(user.screen()).not.toContain('asked by'); // it is the agent that one talks with
    await user.type('y', 'It flies.');
    expect(lastTool()).toContain('launched it');
    expect(await user.end()).toBe(0);
  });

  it.each(['yes', 'Y', 'ok', 'once'])(
    'U10 the word %s is a yes as well, whether it comes at once or after its first letter',
    async (word) => {
      const { user, chat, lastTool } = await asked([launch('it'), { text: 'It flies.' }]);
      user.type(word[0]!);
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      await user.type(`${word.slice(1)}\n`, 'It flies.');
      expect(lastTool()).toContain('launched it');
      await user.sees('› ');
      user.type('/quit\n');
      expect(await user.done).toBe(0);
      expect(chat.requests).toHaveLength(2); // no message of the rest of the word
    },
  );

  it('U10 anything else asks again and says so; a slash command is one, and the question stays; e takes a reason', async () => {
    const { user, lastTool, pith } = await asked([launch('it'), { text: 'I see.' }]);
    await user.type('please launch the small one\n', 'That is not an answer, so nothing happened', ALLOW);
    await user.type('/approvals\n', 'ASKED BY', ALLOW);
    await user.type('?', 'refuse and say why', ALLOW);
    await user.type('/nonsense\n', 'unknown command /nonsense', ALLOW);
    expect(await pith.kernel.approvals.list()).toMatchObject([{ answer: null }]);
    await user.type('e', 'Why not?');
    await user.type('too much\n', 'I see.');
    expect(lastTool()).toContain('too much');
    expect(lastTool()).not.toContain('launched');
    expect(await user.end()).toBe(0);
  });

  it('U10 p allows it in every chat of the project; /permissions lists both scopes and takes back', async () => {
    const home = folderWith();
    const { chat, pith } = await chatting([launch('a'), { text: 'One.' }, launch('b'), { text: 'Two.' }, launch('c')], { home });
    const user = await atPrompt(chat, [], WIDE);
    await user.type('go\n', '[a]lways in this chat (every call of launch), always in this [p]roject, [n]o');
    await user.type('p', 'Run launch of risky: allowed always in this project', 'One.');
    await user.type('/new\n', 'New conversation');
    await user.type('again\n', 'Two.');
    await user.type('/permissions\n', 'every call of launch', 'this project');
    await user.type('/permissions remove 1\n', 'Taken back: every call of launch (risky/launch)');
    expect(await pith.kernel.approvals.permissions()).toEqual([]);
    await user.type('again\n', 'Allow? [y]es');
    await user.end();
  });

  it('U11 a diff is shown with a bar before each line, whole up to a screen, and v shows all of it; typing its command does too', async () => {
    const { chat, lastTool } = await chatting([{ calls: [{ name: 'edit', input: {} }] }, { text: 'Edited.' }]);
    const user = await atPrompt(chat, [], WIDE);
    await user.type('go\n', 'run edit of risky (it says: change 60 lines in a.ts)', '│ +new 0', 'more lines; v shows all 123 lines');
    await user.sees('no arguments'); // what a stranger shows may leave out what it was given
    await user.sees(ALLOW_ONCE);
    await user.type('v', '│ +new 59', ALLOW_ONCE);
    await user.type('/approvals 1 --all\n', '│ +new 59', ALLOW_ONCE);
    await user.type('y', 'Edited.');
    expect(lastTool()).toContain('edited');
    await user.end();
  });

  it('K50 no takes a reason, which the model sees; what was typed before the question is no answer', async () => {
    const { chat, lastTool, pith } = await chatting([
      async () => {
        user.type('once\n'); // while the model is still answering
        await new Promise((resolve) => setImmediate(resolve));
        return { calls: [{ name: 'launch', input: { what: 'x' } }] };
      },
      { text: 'As you wish.' },
      { text: 'You said once.' },
    ]);
    const user = await atPrompt(chat, [], WIDE);
    await user.type('go\n', ALLOW);
    expect(await pith.kernel.approvals.list()).toHaveLength(1);
    await user.type('e', 'Why not?');
    await user.type('wrong day\n', 'As you wish.');
    expect(lastTool()).toMatch(/approval_denied.*wrong day/su);
    await user.sees('You said once.'); // the line that was typed ahead is the next message
    await user.end();
  });

  it('K50 an answer from elsewhere takes the question away within a second, says whose it was, and the turn goes on', async () => {
    const { chat, pith, lastTool } = await chatting([launch('x'), { text: 'It flies.' }]);
    const other = await kernelOf({ sandbox: pith.sandbox, only: [] });
    const user = await atPrompt(chat, [], WIDE);
    await user.type('go\n', ALLOW);
    const [open] = await other.kernel.approvals.list();
    await expect.poll(async () => await other.kernel.approvals.isAwaited(open!.rootThreadId)).toBe(true);
    await other.kernel.approvals.answer(open!.id, { answer: 'once', by: 'ann' });
    await within(5000, user.sees('Answered elsewhere by ann: once'));
    await user.sees('It flies.');
    expect(lastTool()).toContain('launched x');
    await user.end();
  });

  it('K50 Ctrl-C leaves the question open; /approvals approve answers it, and the conversation goes on', async () => {
    const { user, pith } = await asked([launch('x'), { text: 'It flies.' }]);
    await user.type('\u0003', 'The question stays open: answer it with /approvals 1');
    const [open] = await pith.kernel.approvals.list();
    await user.type('/approvals 1\n', 'Allow? [y]es');
    await user.type('y', 'Run launch of risky: allowed once', 'It flies.');
    expect(await pith.kernel.approvals.get(open!.id)).toMatchObject({ answer: 'once', by: 'local' });
    await user.end();
  });

  it.each([
    ['/new\n', 'y\n', 'You said y.'],
    ['/thread other\n', 'n\n', 'You said n.'],
  ])('K50 %j at a question leaves it open in its conversation, which asks it again', async (command, typed, answer) => {
    const { chat, lastTool } = await chatting([{ text: 'Hi.' }, launch('x'), { text: answer }, { text: 'It flies.' }]);
    await pipe(chat, ['-p', 'hi', '--thread', 'other']);
    const user = await atPrompt(chat, ['--thread', 'one'], WIDE);
    await user.type('go\n', ALLOW);
    await user.type(command, 'onversation ', 'The question of conversation one stays open: /thread one asks it again', '› ');
    await user.type(typed, answer, '› ');
    expect(chat.requests.at(-1)).toMatchObject({ input: typed.trim() });
    await user.type('/approvals 1\n', 'The question belongs to conversation one', ALLOW);
    await user.type('\u0003', 'The question of conversation one stays open', '› ');
    await user.type('/thread one\n', 'Conversation one', ALLOW);
    await user.type('y', 'It flies.');
    expect(lastTool()).toContain('launched x');
    await user.end();
    expect(user.written()).not.toContain('pith: ');
  });

  it('K50 opening a conversation with an open question asks it', async () => {
    const { chat, pith } = await chatting([launch('x'), { text: 'It flies.' }]);
    await pith.run('go', { threadId: 'talk' });
    const user = person(chat, ['--thread', 'talk'], WIDE);
    await user.sees(ALLOW);
    await user.type('always\n', 'It flies.');
    expect(await pith.kernel.approvals.list()).toEqual([]);
    await user.end();
  });

  it('U24 what comes from elsewhere while a question is open is shown above it, and the question stays', async () => {
    const { user, pith } = await asked([{ calls: [{ name: 'arm', input: { long: 'x' } }] }, { text: 'Armed.' }], ALLOW_ONCE);
    pith.kernel.events.publish('problem.found', { severity: 'warning', code: 'unknown_key', message: 'a key that nobody knows' });
    await user.sees('a key that nobody knows');
    await user.type('y', 'Armed.');
    expect(await user.end()).toBe(0);
  });

  it('U24 what comes from elsewhere while a command asks is shown above its question, too', async () => {
    const asking: Command = {
      path: 'choose',
      description: 'Asks something',
      async run(_input, io) {
        io.print(`chosen: ${await io.ask('Which one?', { choices: ['red', 'blue'] })}`);
      },
    };
    const { ada: user, chat } = await talking([], [asking], WIDE);
    await user.type('/choose\n', 'Which one? [red/blue]');
    chat.terminals.deliver({ text: 'the task is done', kind: 'task' }, 'all');
    await user.sees('the task is done');
    await user.type('blue\n', 'chosen: blue');
    expect(await user.end()).toBe(0);
  });

  it('U33 T18 commands name others as they are typed here; what a tool shows or is given stays as it is', () => {
    const paths = ['doctor', 'approvals', 'approvals approve'];
    expect(printedHints('See one: pith approvals 1; answer: pith approvals approve 1 or pith approvals reject 1', paths)).toBe(
      'See one: /approvals 1; answer: /approvals approve 1 or /approvals reject 1',
    );
    const exact = ['  │ +run: pith doctor', '\u001b[32m  │ +see pith doctor\u001b[39m', '  command: "pith doctor"', 'run `pith doctor`'];
    for (const text of exact) expect(printedHints(text, paths)).toBe(text);
  });

  it('T18 F12 where always is not offered, the terminal does not take it', async () => {
    const { user, pith, lastTool } = await asked([{ calls: [{ name: 'arm', input: { long: 'x' } }] }, { text: 'Armed.' }], ALLOW_ONCE);
    await user.type('always\n', 'Always is not offered for this call');
    expect(await pith.kernel.approvals.list()).toMatchObject([{ answer: null }]);
    await user.sees(ALLOW_ONCE);
    await user.type('once\n', 'Armed.');
    expect(lastTool()).toContain('armed');
    await user.end();
  });

  it('T18 F27 what is long is cut, and it says exactly how much; what nobody sees is written out', async () => {
    const question = await questionAbout({ long: `${'x'.repeat(1000)}\n${'y\n'.repeat(59)}` });
    const look = { most: 40, wholeBy: 'pith approvals 1 --all', colour: pc.createColors(false), columns: Infinity };
    const lines = questionLines(question, look);
    expect(lines).toContain(
      '  … not shown: 22 more lines and 604 characters at the end of 1 line; pith approvals 1 --all shows all 62 lines',
    );
    expect(lines.join('\n')).toContain('│ for \\u{202e}good');
    expect(questionLines(question, { ...look, most: Infinity }).join('\n')).not.toContain('not shown');
  });

  it('U11 no text looks like a line of Pith by its length: each row of a long line has a mark', async () => {
    const columns = 40;
    const long = `${'x'.repeat(columns - 6)} sandboxed: no network, writes nothing ${' '.repeat(60)}sandboxed: nothing`;
    const question = await questionAbout({ long, other: `${long}\nnext` });
    const look = { most: 40, wholeBy: 'v', colour: pc.createColors(false), columns };
    const rows = questionLines(question, look).slice(1);
    expect(rows.length).toBeGreaterThan(8);
    for (const row of rows) {
      expect(row.length).toBeLessThanOrEqual(columns);
      expect(row).toMatch(/^ {2}(?:┆ | {0,2}│ |(?:long|other): ?|not sandboxed|sandboxed: )/u);
    }
    expect(rows.filter((row) => row.startsWith('  sandboxed:')).length).toBeLessThanOrEqual(1); // the line of Pith itself
    // Rows count, not lines: what is shown fits the screen.
    expect(questionLines(question, { ...look, most: 3 }).join('\n')).toMatch(/not shown: \d+ more lines/u);
  });

  it('K50 a pipe cannot be asked: the line says how to answer, and the exit code is 1', async () => {
    const { chat, pith } = await chatting([launch('x'), launch('x')]);
    const { code, err } = await pipe(chat, ['-p', 'go', '--thread', 'one']);
    const [open] = await pith.kernel.approvals.list();
    expect(code).toBe(1);
    expect(err).toContain(`Needs your approval: run launch of risky; see: pith approvals ${open!.id}`);
    expect(err).toContain('Paused: waiting for your approval');
    expect(err).toContain('No --allow covers this: run launch of risky');
    const json = await pipe(chat, ['-p', 'go', '--thread', 'two'], { json: true });
    expect(linesOf(json.out).slice(-2)).toMatchObject([
      { type: 'approval-request', tool: 'risky/launch', input: { what: 'x' }, agents: ['main'], thread: 'two' },
      { type: 'turn-end', reason: 'awaiting_approval' },
    ]);
    expect(json.code).toBe(1);
  });

  it('U-9 where nobody named the conversation nothing stays open: the call is refused, with what allows it', async () => {
    const { chat, pith } = await chatting([{ calls: [{ name: 'shell', input: { command: 'npm test' } }] }, launch('x')]);
    expect(await pipe(chat, ['-p', 'go'])).toEqual({
      code: 1,
      out: '',
      err: 'pith: not run: run shell of risky: nobody can be asked here; allow it in advance with --allow "risky/shell:npm test", or name the conversation with --thread NAME, and answer with: pith approvals\n',
    });
    const json = await pipe(chat, ['-p', 'go'], { json: true });
    expect(json.code).toBe(1);
    expect(linesOf(json.out).slice(-2)).toMatchObject([
      { type: 'approval-request', tool: 'risky/launch' },
      { type: 'turn-end', reason: 'error', error: { code: 'approval_denied', message: expect.stringMatching(/here; name the/u) } },
    ]);
    expect(await pith.kernel.approvals.list()).toEqual([]);
  });

  it('T22 a question that is asked on reopening is not shown by its notice too', async () => {
    const { chat, pith } = await chatting([launch('x'), { text: 'It flies.' }]);
    await pipe(chat, ['-p', 'go', '--thread', 'one']);
    const [open] = await pith.kernel.approvals.list();
    const user = person(chat, ['--thread', 'one'], WIDE);
    await user.sees(ALLOW);
    chat.terminals.deliver({ text: 'NOTICE of the question', kind: 'approval', approvalId: open!.id }, 'one');
    await user.type('y', 'It flies.');
    await user.end();
    expect(user.written()).not.toContain('NOTICE');
  });

  it('U14 --allow answers what its rules name in the tool’s own words, and nothing else', async () => {
    const step = (name: string, input: Record<string, string>): ScriptedStep => ({ calls: [{ name, input }] });
    const script = [
      step('shell', { command: 'npm test -- a' }),
      step('write', { path: 'src/deep/a.ts' }),
      { text: 'Done.' },
      step('shell', { command: `npm '$x'` }),
    ];
    const { chat, pith, lastTool } = await chatting(script);
    const rules = ['--allow', 'risky/shell:npm test', '--allow=risky/write:src/', '--yes'];
    const first = await pipe(chat, ['-p', 'go', '--thread', 'one', ...rules], { json: true });
    expect(first.code, first.err).toBe(0);
    expect(lastTool()).toContain('wrote src/deep/a.ts');
    const asked = linesOf(first.out).filter(({ type }) => type === 'turn-start' || type === 'turn-end' || type === 'approval-request');
    expect(asked).toMatchObject([{ type: 'turn-start' }, { type: 'turn-end', reason: 'done' }]);
    expect(first.err).toContain('Allowed by --allow: run shell of risky');
    expect(await pith.kernel.approvals.permissions()).toEqual([]); // once each
    const second = await pipe(chat, ['-p', 'go', '--thread', 'two', ...rules]);
    expect(second.code).toBe(1);
    expect(second.err).toContain(`Allow it in a script with: --allow 'risky/shell:npm '"'"'$x'"'"''`);
    expect(lastTool()).toBeUndefined();
  });

  it.each([
    ['edit_file:src/', 'src/deep/a.ts', true],
    ['edit_file:.', 'a.ts', true],
    ['edit_file:src', 'other/a.ts', false],
    ['edit_file:src/', 'src/../a.ts', false],
    ['write_file:src/', 'src/a.ts', false],
  ])('U14 %s for a change of %s: %s', (rule, path, expected) =>
    expect(
      isAllowed(readAllowList({ options: { allow: [rule] } }), {
        id: '1',
        tool: 'project_tools/edit_file',
        summary: '',
        key: 'write:.',
        path,
        ships: true,
      }),
    ).toBe(expected),
  );

  it.each([
    ['shell:git log -p', 'command:git log …', 'git log -p', true],
    ['shell:git log', 'command:git log …', 'git log -p', true],
    ['shell:git log -p', 'command:git log …', 'git log -p --all', false],
    ['shell:git log -p', 'command:git log … in "src"', 'git log -p', false],
    ['shell:git log -p in "src"', 'command:git log … in "src"', 'git log -p', true],
    ['shell:npm test', 'command:npm test +network', 'npm test', false],
    ['shell:npm test', 'unsandboxed:npm test', 'npm test', false],
    ['shell:npm  run   "a b"', 'command:npm run "a b"', "npm run 'a b'", true],
    ["shell:npm run 'a b' +network", 'command:npm run "a b" +network', 'npm run "a b"', true],
    ["shell:git log '--format=%H x'", 'command:git log …', 'git log "--format=%H x"', true],
    ["shell:echo '$HOME'", "command:echo '$HOME'", "echo '$HOME'", true],
    ['shell:git commit -m "wip"', 'command:git commit -m wip', 'git commit -m "wip"', true],
    ['shell:"touch" "x.txt" b', 'command:touch x.txt b', 'touch x.txt b', true],
    ['shell:npm run "test" +network in "src"', 'command:npm run test +network in "src"', 'npm run "test"', true],
    ['shell:git "log"', 'command:git log … in "src"', 'git log', false],
    ['unsandboxed:npm "test"', 'unsandboxed:npm test', 'npm test', false],
    ['shell:unsandboxed:npm "test"', 'unsandboxed:npm test', 'npm test', true],
  ])('12 U14 %s of %s for %s: %s', (rule, key, command, expected) =>
    expect(
      isAllowed(readAllowList({ options: { allow: [rule] } }), {
        id: '1',
        tool: 'project_tools/shell',
        summary: '',
        key,
        command,
        ships: true,
      }),
    ).toBe(expected),
  );

  it.each([
    'shell:a && b',
    'shell:npm test; rm -rf x',
    'shell:cat a | sh',
    'shell:npm test > out.txt',
    'shell:npm *',
    'shell:git:*',
    'shell:FOO=1 npm test',
    'shell:unsandboxed:a || b',
    'shell:echo $(date)',
    'shell:echo "$(id)"',
    'shell:"$HOME/x"',
    'shell:echo "`id`"',
    'shell:unsandboxed:git log | head',
    'shell:git log | head +network',
    'shell:echo "a',
    'shell:a\nb',
    'shell:a &',
    'project_tools/shell:cd src && make',
    'shell:touch "$HOME"',
    'shell:echo "`id`"',
    'shell:echo "a\\"b"',
    'shell:echo "done!"',
    'shell:"A=1" make',
  ])('S7 U14 --allow %j is refused, because it never counts', (rule) =>
    expect(() => readAllowList({ options: { allow: [rule] } })).toThrow(
      /^wrong use of --allow: '.+' never counts: Pith asks each time about a command with `;`, `&&`, `\|`, a redirection, variable, pattern or substitution$/u,
    ),
  );

  it.each(['shell:git log | head', 'shell:git log | grep -v "a b" | wc -l in "src"'])(
    'S7 U14 --allow %j is taken: it runs unasked',
    (rule) => expect(() => readAllowList({ options: { allow: [rule] } })).not.toThrow(),
  );

  it('T9 --allow with the slip of a tool is refused, and one that the agent has not is noted', async () => {
    const { chat } = await chatting([{ text: 'So.' }]);
    for (const [rule, message] of [
      ['launhc:x', "wrong use of --allow: there is no tool 'launhc' (did you mean 'launch'?)"],
      ['risky/lanch:x', "wrong use of --allow: there is no tool 'risky/lanch' (did you mean 'risky/launch'?)"],
    ] as const)
      await expect(pipe(chat, ['-p', 'go', '--allow', rule])).rejects.toMatchObject({ code: 'usage', message });
    const { code, err } = await pipe(chat, ['-p', 'go', '--allow', 'frobnicate:x', '--allow', 'risky/launch:x']);
    expect([code, err]).toEqual([0, "--allow: main has no tool 'frobnicate' now; the rule counts where one comes\n"]);
  });

  it('U14 --yes without --allow is refused, and so is a rule that names no calls', async () => {
    const { chat } = await chatting([]);
    for (const words of [['--yes'], ['--allow', 'shell'], ['--allow', 'shell:']])
      await expect(pipe(chat, ['-p', 'go', ...words])).rejects.toMatchObject({ code: 'usage' });
    await expect(pipe(chat, ['-p', 'go', '--yes'])).rejects.toMatchObject({
      message: expect.stringContaining('--yes alone allows nothing'),
    });
    expect(chat.requests).toEqual([]);
  });

  it('U14 plan mode: the prompt says so, nothing changes and nobody is asked; go ends it after a question', async () => {
    const script = [launch('x'), { text: 'First this, then that.' }, launch('x'), { text: 'It flies.' }];
    const { chat, lastTool } = await chatting(script);
    const user = person(chat, ['--plan'], WIDE);
    await user.sees('plan › ');
    await user.type('launch it\n', 'First this, then that.');
    expect(lastTool()).toContain('plan_mode');
    await user.sees('plan › ');
    await user.type('go\n', 'Leave plan mode and carry out the plan? [y]es, [n]o');
    await user.type('step 1 only\n', 'Answer with yes or no');
    await user.type('n', '[n]o n\nplan › ');
    user.type('go\n'); // nothing was sent before: the script would be one answer short
    await user.sees('Leave plan mode and carry out the plan? [y]es, [n]o');
    await user.type('y', ALLOW);
    await user.type('y', 'It flies.');
    await user.type('/plan\n', 'Plan mode: only reading tools run');
    await user.type('/plan off\n', 'Plan mode is off');
    await user.end();
  });

  it.each([
    ['risky', null],
    ['risky/launch', null],
    ['"*"', null],
    ['riskt/launch', /there is no extension 'riskt' with tools.*risky/u],
    ['main', /there is no extension 'main' with tools/u],
    ['toolset:dice/roll', null],
    ['risky/lanch', /'risky' has no tool 'lanch' \(did you mean 'launch'/u],
  ])('K50 a slip in approvals.tools is said, and counts as "*": %s', async (entry, said) => {
    const free = extensionFiles('free', {
      provides: ['tool'],
      main: `import { defineTool, z } from 'pith';
export default class { getTools() { return [defineTool({ name: 'look', description: 'Looks.', input: z.object({}), execute: async () => 'seen' })]; } }`,
    });
    const main = agentFile('main', { uses_tools: ['risky', 'free'] });
    const files = { ...FILES, ...free, 'agents/main/manifest.yaml': main, 'pith.yaml': `approvals: { tools: [${entry}] }\n` };
    const pith = await kernelOf({ files, only: [] });
    const asks = said !== null || entry.includes('*');
    expect(await pith.kernel.agents.callTool('main', 'look', {})).toMatchObject(
      asks ? { error: { code: 'approval_needed' } } : { ok: true },
    );
    const found = (await pith.kernel.problems()).filter(({ code }) => code === 'name_unknown');
    expect(found.map(({ message }) => message).join('\n')).toMatch(said ?? /^$/u);
  });
});
