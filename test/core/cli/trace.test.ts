import path from 'node:path';
import { scriptedModel, testKernel, type ScriptedStep } from 'pith/testing';
import { expect, it } from 'vitest';
import { openKernel } from '../../../core/cli/index.ts';
import { folderWith } from '../../places.ts';
import { cli } from './fakes.ts';

const FILES = {
  'agents/main/manifest.yaml': 'id: main\nagent: { uses_tools: [mine, delegation], delegates_to: [child] }\n',
  'agents/child/manifest.yaml': 'id: child\nname: Child\ndescription: Does a part.\nagent: { uses_tools: [mine] }\n',
  'pith.yaml': 'default_agent: main\n',
  'extensions/mine/manifest.yaml': JSON.stringify({ id: 'mine', entrypoint: 'main.ts', provides: ['tool'] }),
  'extensions/mine/main.ts': `import { defineTool, toolError, toolResult, z } from 'pith';
export default class {
  getTools() {
    return [
      defineTool({ name: 'look', description: 'd', effect: 'read', input: z.object({}), execute: () => toolResult('seen', { title: 'Looked' }) }),
      defineTool({ name: 'fail', description: 'd', effect: 'read', input: z.object({}), execute: () => toolError('no_luck', 'not today') }),
      defineTool({ name: 'risky', description: 'd', needsApproval: true, input: z.object({}), execute: () => 'done' }),
    ];
  }
}
`,
};

const usage = { inputTokens: 11, outputTokens: 7 };
const call = (name: string, input = {}): ScriptedStep => ({ calls: [{ name, input }], usage });

it('U42 pith trace draws a turn: steps, calls, waits for approval and the turns that it called', async () => {
  const folder = folderWith();
  const model = scriptedModel([
    {
      calls: [
        { name: 'look', input: {} },
        { name: 'fail', input: {} },
      ],
      usage,
    },
    call('delegate_task', { agent_id: 'child', task: 'a part' }),
    call('look'),
    { text: 'the part', usage },
    call('risky'),
    { text: 'done', usage },
  ]);
  const pith = await testKernel({ only: ['delegation'], model, files: FILES, sandbox: path.join(folder, 'sandbox') });
  const first = await pith.run('go');
  expect(first.reason).toBe('awaiting_approval');
  const [question] = await pith.kernel.approvals.list('test');
  await pith.kernel.approvals.answer(question!.id, { answer: 'once', by: 'ann' });
  for await (const event of pith.kernel.agents.run({ agent: 'main', threadId: 'test', resume: true })) void event;
  await pith.stop();
  const run = (...argv: string[]) => cli(argv, { cwd: folder, openKernel });
  const { out } = await run('trace', '--trust');
  const plain = out
    .replaceAll(/\d+(?:\.\d+)? (?:ms|s)\b/gu, 'TIME')
    .replaceAll(/turn \w+ in .*/gu, 'TURN')
    .replaceAll(/ +$/gmu, '');
  expect(plain.trimEnd().split('\n')).toEqual([
    'main  done, TIME, 66 → 42 tokens  TURN',
    '├─ step 1  scripted/scripted, TIME, 11 → 7 tokens',
    '│  ├─ look (mine)  ok, TIME, Looked',
    '│  └─ fail (mine)  no_luck, TIME',
    '├─ step 2  scripted/scripted, TIME, 11 → 7 tokens',
    '│  └─ delegate_task (delegation)  ok, TIME, child: done',
    '│     └─ child  done, TIME, 22 → 14 tokens  TURN',
    '│        ├─ step 1  scripted/scripted, TIME, 11 → 7 tokens',
    '│        │  └─ look (mine)  ok, TIME, Looked',
    '│        └─ step 2  scripted/scripted, TIME, 11 → 7 tokens',
    '├─ step 3  scripted/scripted, TIME, 11 → 7 tokens',
    '│  └─ risky (mine)  ok, TIME',
    '│     └─ approval  once, after TIME',
    '└─ step 4  scripted/scripted, TIME, 11 → 7 tokens',
  ]);
  const json = async (...argv: string[]) => JSON.parse((await run('trace', ...argv, '--json', '--trust')).out);
  const { id, threadId, steps } = await json();
  expect([threadId, steps.length, steps[0].calls[1].error]).toEqual(['test', 4, 'no_luck']);
  expect(await json(id.slice(0, 22))).toEqual(await json('test'));
  expect(await run('trace', 'nowhere', '--trust')).toMatchObject({ code: 1, err: expect.stringContaining('pith threads list') });
});

it('U42 pith trace of a conversation names its earlier turns, each of which can be drawn; so does a beginning that several have', async () => {
  const folder = folderWith();
  const model = scriptedModel([{ text: 'one' }, call('look'), { text: 'two' }, { text: 'three' }]);
  const pith = await testKernel({ model, files: FILES, sandbox: path.join(folder, 'sandbox') });
  for (const text of ['first', 'second', 'third']) await pith.run(text);
  await pith.stop();
  const run = (...argv: string[]) => cli(['trace', ...argv, '--trust'], { cwd: folder, openKernel });
  const { out } = await run('test');
  const ids = [...out.matchAll(/turn (\w+) in test/gu)].map(([, id]) => id!);
  expect(out.trimEnd().split('\n')).toEqual([
    ...ids.map((id) => expect.stringContaining(id) as unknown),
    expect.stringContaining('step 1'),
  ]);
  expect(ids).toEqual([...ids].sort());
  expect(ids).toHaveLength(3);
  const second = await run(ids[1]!.toLowerCase());
  expect(second.out).toContain('look (mine)');
  expect(second.out.match(/turn \w+ in/gu)).toEqual([`turn ${ids[1]} in`]);
  expect((await run(ids[0]!.slice(0, 2))).out).toBe(out);
  expect(JSON.parse((await run('test', '--last', '2', '--json')).out)).toMatchObject({
    id: ids[2],
    earlier: [{ id: ids[1], state: 'done' }],
  });
  expect(await run('')).toMatchObject({ code: 1, err: expect.stringContaining('the id is empty') });
  const chat = await cli(['chat', '--lines', '--trust'], {
    cwd: folder,
    openKernel,
    input: '/trace\n',
    env: { PITH_MODEL: 'offline/librarian' },
  });
  expect(chat.out + chat.err).toContain('nothing was said here yet');
});

it('U42 pith trace of a called turn draws what that turn did alone, not its sisters', async () => {
  const folder = folderWith();
  const delegate = call('delegate_task', { agent_id: 'child', task: 'a part' });
  const model = scriptedModel([delegate, { text: 'one' }, delegate, { text: 'two' }, { text: 'done' }]);
  const pith = await testKernel({ only: ['delegation'], model, files: FILES, sandbox: path.join(folder, 'sandbox') });
  await pith.run('go');
  await pith.stop();
  const json = async (...id: string[]) => JSON.parse((await cli(['trace', ...id, '--json', '--trust'], { cwd: folder, openKernel })).out);
  const outer = await json();
  const [one, two] = [0, 1].map((step) => outer.steps[step].calls[0].turns[0]);
  expect([one.agentId, one.steps.length, two.id === one.id]).toEqual(['child', 1, false]);
  expect(await json(one.id)).toEqual(one);
});
