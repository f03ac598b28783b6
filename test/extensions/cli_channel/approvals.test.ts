import { scriptedModel, type ScriptedStep } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { questionLines } from '../../../core/cli/index.ts';
import { agentFile, extensionFiles } from '../../journeys/sandbox-files.ts';
import { kernelChat, person, pipe } from './chats.ts';
import { kernelOf } from '../../places.ts';
import { within } from '../../waiting.ts';

const RISKY = extensionFiles('risky', {
  provides: ['tool'],
  main: `
import { defineTool, z } from 'pith';
export default class {
  getTools() {
    return [defineTool({ name: 'arm', description: 'Arms.', input: z.object({ long: z.string() }), needsApproval: () => ({ text: 'arms it\\nfor \u202egood', once: true }), execute: async () => 'armed' }), defineTool({ name: 'launch', description: 'Launches.', input: z.object({ what: z.string() }), needsApproval: true, execute: async ({ what }) => 'launched ' + what })];
  }
}
`,
});
const FILES = { ...RISKY, 'agents/main/manifest.yaml': agentFile('main', { uses_tools: ['risky'] }), 'pith.yaml': 'default_agent: main\n' };
const launch = (what: string): ScriptedStep => ({ calls: [{ name: 'launch', input: { what } }] });

async function chatting(script: readonly ScriptedStep[]) {
  const model = scriptedModel(script);
  const chat = await kernelChat({ files: FILES, shipped: false, model });
  const lastTool = () => JSON.stringify(model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool'));
  return { pith: chat.pith, chat, lastTool };
}

describe('a tool asks the person at the terminal', () => {
  it('K50 shows tool, agents and exact arguments; once runs it and the turn goes on', async () => {
    const { chat, lastTool } = await chatting([launch('it \u001b[2J\u202egnp'), { text: 'It flies.' }]);
    const user = person(chat);
    await user.sees('› ');
    user.type('go\n');
    await user.sees('risky/launch needs your approval (asked by main)');
    await user.sees('what: "it \\u001b[2J\\u{202e}gnp"');
    await user.sees('Run it? [once/always/no]');
    user.type('yes\n');
    await user.sees('Write once for this call, or always');
    await user.sees('Run it? [once/always/no]');
    user.type('once\n');
    await user.sees('It flies.');
    expect(lastTool()).toContain('launched it');
    user.end();
    expect(await user.done).toBe(0);
  });

  it.each([
    ['please launch the small one', 'please launch the small one'],
    ['no, too much', 'too much'],
  ])('K50 another message is a no with that reason: %s', async (typed, reason) => {
    const { chat, lastTool } = await chatting([launch('it'), { text: 'I see.' }]);
    const user = person(chat);
    await user.sees('› ');
    user.type('go\n');
    await user.sees('Run it? [once/always/no]');
    user.type(`${typed}\n`);
    await user.sees('I see.');
    expect(lastTool()).toContain(reason);
    expect(lastTool()).not.toContain('launched');
    user.end();
    expect(await user.done).toBe(0);
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
    const user = person(chat);
    await user.sees('› ');
    user.type('go\n');
    await user.sees('Run it? [once/always/no]');
    expect(await pith.kernel.approvals.list()).toHaveLength(1);
    user.type('n\n');
    await user.sees('Why not?');
    user.type('wrong day\n');
    await user.sees('As you wish.');
    expect(lastTool()).toMatch(/approval_denied.*wrong day/su);
    await user.sees('You said once.'); // the line that was typed ahead is the next message
    user.end();
    await user.done;
  });

  it('K50 an answer from elsewhere takes the question away within a second, says whose it was, and the turn goes on', async () => {
    const { chat, pith, lastTool } = await chatting([launch('x'), { text: 'It flies.' }]);
    const other = await kernelOf({ sandbox: pith.sandbox, shipped: false });
    const user = person(chat);
    await user.sees('› ');
    user.type('go\n');
    await user.sees('Run it? [once/always/no]');
    const [open] = await other.kernel.approvals.list();
    await expect.poll(async () => await other.kernel.approvals.isAwaited(open!.rootThreadId)).toBe(true);
    await other.kernel.approvals.answer(open!.id, { answer: 'once', by: 'ann' });
    await within(5000, user.sees('Answered elsewhere by ann: once'));
    await user.sees('It flies.');
    expect(lastTool()).toContain('launched x');
    user.end();
    await user.done;
  });

  it('K50 Ctrl-C leaves the question open; /approvals approve answers it, and the conversation goes on', async () => {
    const { chat, pith } = await chatting([launch('x'), { text: 'It flies.' }]);
    const user = person(chat);
    await user.sees('› ');
    user.type('go\n');
    await user.sees('Run it? [once/always/no]');
    user.type('\u0003');
    await user.sees('It stays open: answer with /approvals approve');
    const [open] = await pith.kernel.approvals.list();
    user.type(`/approvals approve ${open!.id}\n`);
    await user.sees('approved once by local');
    await user.sees('It flies.');
    expect(await pith.kernel.approvals.get(open!.id)).toMatchObject({ answer: 'once', by: 'local' });
    user.end();
    await user.done;
  });

  it('K50 opening a conversation with an open question asks it', async () => {
    const { chat, pith } = await chatting([launch('x'), { text: 'It flies.' }]);
    await pith.run('go', { threadId: 'talk' });
    const user = person(chat, ['--thread', 'talk']);
    await user.sees('Run it? [once/always/no]');
    user.type('always\n');
    await user.sees('It flies.');
    expect(await pith.kernel.approvals.list()).toEqual([]);
    user.end();
    await user.done;
  });

  it('T18 F12 where always is not offered, the terminal does not take it', async () => {
    const { chat, pith, lastTool } = await chatting([{ calls: [{ name: 'arm', input: { long: 'x' } }] }, { text: 'Armed.' }]);
    const user = person(chat);
    await user.sees('› ');
    user.type('go\n');
    await user.sees('always is not offered');
    await user.sees('Run it? [once/no]');
    user.type('always\n');
    await user.sees('Always is not offered here');
    expect(await pith.kernel.approvals.list()).toMatchObject([{ answer: null }]);
    await user.sees('Run it? [once/no]');
    user.type('once\n');
    await user.sees('Armed.');
    expect(lastTool()).toContain('armed');
    user.end();
    await user.done;
  });

  it('T18 F27 what is long is cut, and it says exactly how much; what nobody sees is written out', async () => {
    const long = `${'x'.repeat(1000)}\n${'y\n'.repeat(59)}`;
    const { pith } = await chatting([{ calls: [{ name: 'arm', input: { long } }] }]);
    await pith.run('go');
    const [open] = await pith.kernel.approvals.list();
    const lines = questionLines(open!, false);
    expect(lines).toContain(
      `  … not shown: 22 more lines and 604 characters at the end of 1 line; all of it: pith approvals show ${open!.id} --all`,
    );
    expect(lines.join('\n')).toContain('│ for \\u{202e}good');
    expect(questionLines(open!, true).join('\n')).not.toContain('not shown');
  });

  it('K50 a pipe cannot be asked: the line says how to answer, and the exit code is 1', async () => {
    const { chat, pith } = await chatting([launch('x'), launch('x')]);
    const { code, err } = await pipe(chat, ['-p', 'go', '--thread', 'one']);
    const [open] = await pith.kernel.approvals.list();
    expect(code).toBe(1);
    expect(err).toContain(`risky/launch needs your approval: see pith approvals show ${open!.id}`);
    const json = await pipe(chat, ['-p', 'go', '--thread', 'two'], { json: true });
    const lines = json.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.at(-2)).toMatchObject({
      type: 'approval-request',
      tool: 'risky/launch',
      input: { what: 'x' },
      agents: ['main'],
      thread: 'two',
    });
    expect(lines.at(-1)).toMatchObject({ type: 'turn-end', reason: 'awaiting_approval' });
    expect(json.code).toBe(1);
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
    const pith = await kernelOf({ files, shipped: false });
    const asks = said !== null || entry.includes('*');
    expect(await pith.kernel.agents.callTool('main', 'look', {})).toMatchObject(
      asks ? { error: { code: 'approval_needed' } } : { ok: true },
    );
    const found = (await pith.kernel.problems()).filter(({ code }) => code === 'name_unknown');
    expect(found.map(({ message }) => message).join('\n')).toMatch(said ?? /^$/u);
  });
});
