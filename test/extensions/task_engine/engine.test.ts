import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../core/store/index.ts';
import { call, lastUser, stepOf, taskKernel, text } from './task-kernel.ts';
import { words } from '../../words.ts';

describe('the task engine', () => {
  it('K90: an agent that is named works on the goal in a separate thread, and its prompt has the task’s id', async () => {
    await using kernel = await taskKernel((request) =>
      stepOf(request) === 0 ? call('kv_set', { key: 'a', value: 1 }) : text('all counted'),
    );
    const { task_id, note } = await kernel.tool('submit_task', { goal: 'count the stars', agent_id: 'worker' });
    expect(note).toMatch(/while a chat or `pith serve` is open/);
    const id = String(task_id);
    const task = await kernel.until(id, 'done');
    expect(task).toMatchObject({ agent: 'worker', result: 'all counted', steps: 2, thread: `tasks/${id}` });
    expect(kernel.requests[0]!.system).toContain(`You work on task ${id}.`);
    expect(lastUser(kernel.requests[0]!)).toBe('count the stars');
    expect((await kernel.test.kernel.threads.load(`tasks/${id}`))?.thread.agentId).toBe('worker');
    await expect.poll(() => kernel.states()).toEqual(['pending', 'running', 'done'].map((state) => `${id} ${state}`));
  });

  it('K90: complete_task gives the result; a worker may complete only its own task', async () => {
    await using kernel = await taskKernel((request) => {
      const id = /work on task (\w+)/.exec(request.system)![1]!;
      if (stepOf(request) === 0) return call('complete_task', { task_id: 'zzzzzzzzzz', result: 'not mine' });
      return stepOf(request) === 1 ? call('complete_task', { task_id: id, result: 'forty-two' }) : text('bye');
    });
    const id = await kernel.submit('find the answer');
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'forty-two' });
    expect(JSON.stringify(kernel.requests[1]!.messages.at(-1))).toContain('not_allowed');
    expect(await kernel.refusal('complete_task', { result: 'x' })).toMatchObject({ code: 'not_in_task' });
  });

  it('K91: at most max_concurrent at once, the most urgent first', async () => {
    const running: string[] = [];
    let most = 0;
    const gates: (() => void)[] = [];
    await using kernel = await taskKernel(
      async (request) => {
        running.push(/^(\w+)/.exec(lastUser(request))![1]!);
        most = Math.max(most, gates.length + 1);
        await new Promise<void>((resolve) => gates.push(resolve));
        return text('done');
      },
      { files: { 'pith.yaml': 'extensions:\n  task_engine:\n    max_concurrent: 2\n' }, start: false },
    );
    const ids: string[] = [];
    for (const [goal, priority] of [
      ['low', -1],
      ['middle', 0],
      ['high', 5],
    ] as const)
      ids.push(await kernel.submit(goal, { priority }));
    await kernel.test.kernel.start();
    await expect.poll(async () => (await kernel.clock.advance(100), gates.length)).toBe(2);
    await kernel.clock.advance(1_000);
    expect(running).toEqual(['high', 'middle']);
    gates.shift()!();
    await expect.poll(async () => (await kernel.clock.advance(100), running.length)).toBe(3);
    for (const open of gates.splice(0)) open();
    for (const id of ids) await kernel.until(id, 'done');
    expect(most).toBe(2);
  });

  it('K91: a chain passes results on, and stops on failure', async () => {
    await using kernel = await taskKernel((request) => {
      const message = lastUser(request);
      if (message.startsWith('first')) return text('seven');
      return message.startsWith('second') ? { error: new Error('no model for this') } : text('never');
    });
    const { task_ids } = await kernel.tool('submit_chain', {
      steps: ['first', 'second', 'third'].map((goal) => ({ goal, agent_id: 'worker' })),
    });
    const [first, second, third] = task_ids as readonly [string, string, string];
    await kernel.until(first, 'done');
    expect(await kernel.until(second, 'failed')).toMatchObject({ attempts: 5, error: { message: expect.stringContaining('5 attempts') } });
    expect(await kernel.until(third, 'cancelled')).toMatchObject({ error: { code: 'dependency_failed' }, steps: 0 });
    const sent = kernel.requests.map(lastUser);
    expect(sent.filter((message) => message.startsWith('second')).every((message) => message.includes('seven'))).toBe(true);
    expect(sent.filter((message) => message.startsWith('second'))).toHaveLength(5);
    expect(kernel.requests.at(-1)!.messages.filter(({ role }) => role === 'user')).toHaveLength(1); // another attempt, the same turn
  });

  it('C2: what a worker says of its task counts only while the task is its own', async () => {
    const results: unknown[] = [];
    await using kernel = await taskKernel(async (request) => {
      if (stepOf(request) > 0) return text('what now?');
      await expect.poll(() => kernel.states().some((state) => state.endsWith(' running'))).toBe(true);
      await kernel.clock.advance(0); // nobody looks at jobs any more
      await kernel.change("UPDATE jobs SET holder = 'another process', fence = fence + 1, until = until + 1000000 WHERE state = 'running'");
      return call('complete_task', { result: 'too late' });
    });
    kernel.test.kernel.events.handle('tool.called', ({ tool, ok }) => void (tool === 'complete_task' && results.push(ok)));
    const id = await kernel.submit('be slow');
    await expect.poll(() => results).toEqual([false]);
    const store = openStore(path.join(kernel.test.sandbox, 'data/pith.db'), kernel.clock);
    const row = store.get(
      `SELECT holder, task FROM task_engine__tasks AS tasks JOIN jobs ON jobs.id = task ->> 'job' WHERE tasks.id = ?`,
      id,
    );
    await store.close();
    expect([row?.['holder'], JSON.parse(String(row?.['task']))]).toMatchObject(['another process', { state: 'running', completed: null }]);
  });

  it('K91: reaching max_steps is failed: step_limit', async () => {
    await using kernel = await taskKernel((request) => call('kv_set', { key: 'a', value: stepOf(request) }));
    const id = await kernel.submit('never ends', { max_steps: 3 });
    expect(await kernel.until(id, 'failed')).toMatchObject({ error: { code: 'step_limit' }, steps: 3, result: null });
    expect(kernel.requests).toHaveLength(3);
  });

  it('K91: a worker’s tasks are subtasks; it waits for them and goes on with their results; three deep at most', async () => {
    await using kernel = await taskKernel((request) => {
      const message = lastUser(request);
      if (message.includes('subtasks have ended'))
        return text(/level (\d)/.exec(message)![0] + ' of ' + /<result[^>]*>\n(.*)/.exec(message)![1]!);
      const level = Number(/^level (\d)/.exec(message)![1]);
      if (stepOf(request) === 0) return call('submit_task', { goal: `level ${level + 1}` });
      const refused = JSON.stringify(request.messages.at(-1)).includes('limit_reached');
      return text(refused ? 'the bottom' : 'waiting');
    });
    const id = await kernel.submit('level 0');
    const task = await kernel.until(id, 'done');
    expect(task).toMatchObject({ result: 'level 1 of level 2 of level 3 of the bottom' });
    const { tasks } = await kernel.tool('list_tasks', {});
    expect(tasks).toHaveLength(4);
    expect((task['history'] as { state: string }[]).map(({ state }) => state)).toEqual(
      words('pending running waiting_subtasks pending running done'),
    );
  });

  it('K90: a person answers what a worker asks; an agent cannot', async () => {
    await using kernel = await taskKernel((request) => {
      const message = lastUser(request);
      if (message.includes('has answered')) return text(message.includes('the blue one') ? 'painted blue' : 'lost');
      if (stepOf(request) === 0) return call('request_human_review', { question: 'Which colour?' });
      if (stepOf(request) === 1)
        return call('respond_to_review', { task_id: /work on task (\w+)/.exec(request.system)![1]!, answer: 'red' });
      return text('waiting for the answer');
    });
    const id = await kernel.submit('paint it');
    expect(await kernel.until(id, 'human_review')).toMatchObject({ question: 'Which colour?' });
    expect(JSON.stringify(kernel.requests[2]!.messages.at(-1))).toMatch(/not_allowed|tool_unknown/);
    expect(await kernel.refusal('respond_to_review', { task_id: id, answer: 'red' })).toMatchObject({ code: 'approval_needed' });
    await kernel.command('tasks', 'review', id, 'the', 'blue', 'one');
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'painted blue' });
    await expect(kernel.command('tasks', 'list', '--limit', '0')).rejects.toThrow('--limit must be a whole number from 1, not 0');
  });
});
