import { scriptedModel } from 'pith/testing';
import { expect, it } from 'vitest';
import { kernelOf } from '../../places.ts';
import { call } from '../../core/agent/world.ts';

const todos = (...statuses: readonly string[]) => ({ todos: statuses.map((status, at) => ({ content: `item ${at + 1}`, status })) });

it('U23 K50 the todo list says what is done and what is open, and the newest is there whole after a compaction', async () => {
  const test = await kernelOf({
    only: ['core_tools', 'compaction'],
    flags: { default_agent: 'main' },
    files: { 'agents/main/manifest.yaml': 'id: main\nagent: { uses_tools: [core_tools/todo_write] }\n' },
    model: scriptedModel([
      call('todo_write', todos('in_progress', 'pending', 'pending')),
      { text: `Working. ${'word '.repeat(400)}` },
      call('todo_write', todos('completed', 'in_progress', 'pending')),
      { text: `Working on. ${'word '.repeat(3000)}` },
      { text: 'The summary.' },
      { text: 'Third.' },
    ]),
  });
  const [first] = (await test.run('do it', { threadId: 't' })).results;
  expect(first).toMatchObject({
    ok: true,
    output: 'Todo list: 0 of 3 done\n[>] item 1\n[ ] item 2\n[ ] item 3',
    title: 'Todo list: 0 of 3 done, now: item 1',
    metadata: { checklist: todos('in_progress', 'pending', 'pending').todos },
  });
  await test.run('go on', { threadId: 't' });
  await test.kernel.agents.compact('t');
  const { requests } = await test.run('and?', { threadId: 't' });
  const sent = JSON.stringify(requests[0]?.messages);
  expect(sent).toContain('The summary.');
  expect(sent.split('Todo list: ')).toHaveLength(2);
  expect(sent).toContain('Todo list: 1 of 3 done\\n[>] item 2\\n[ ] item 3');
});
