import { describe, expect, it } from 'vitest';
import { lastUser, stepOf, taskKernel } from './task-kernel.ts';

const text = (value: string) => ({ text: value });
const call = (name: string, input: Record<string, unknown> = {}) => ({ calls: [{ name, input: input as never }] });

describe('tasks that are held up', () => {
  it('K91 K93: cancel ends the running turn, and takes subtasks and what waits with it', async () => {
    let aborted = false;
    await using kernel = await taskKernel((request) => {
      if (!lastUser(request).startsWith('parent')) return { hang: true };
      request.options.abortSignal?.addEventListener('abort', () => (aborted = true));
      return stepOf(request) === 0 ? call('submit_task', { goal: 'child' }) : { hang: true };
    });
    const { task_id: parent } = await kernel.tool('submit_task', { goal: 'parent', agent_id: 'worker' });
    const { task_id: later } = await kernel.tool('submit_task', { goal: 'later', after: [String(parent)] });
    await expect.poll(async () => (await kernel.clock.advance(50), kernel.requests.length)).toBe(3);
    const { tasks } = await kernel.tool('list_tasks', { state: 'running' });
    const child = (tasks as { id: string; goal: string }[]).find(({ goal }) => goal === 'child')!.id;
    expect(await kernel.command('tasks', 'cancel', String(parent))).toMatchObject({ state: 'cancelled', note: 'cancelled by a person' });
    expect(await kernel.until(child, 'cancelled')).toMatchObject({ note: `its parent ${String(parent)} is cancelled` });
    expect(await kernel.until(String(later), 'cancelled')).toMatchObject({ error: { code: 'dependency_failed' } });
    await expect.poll(async () => (await kernel.clock.advance(50), aborted)).toBe(true);
    const again = await kernel.command('tasks', 'retry', String(parent));
    expect(again).toMatchObject({ state: 'pending', error: null });
    expect(await kernel.task(String(later))).toMatchObject({ state: 'blocked' });
  });

  it('K91: a task that Pith is stopped in goes on where it was, in the same turn', async () => {
    let stopped = false;
    await using kernel = await taskKernel((request) => {
      if (stepOf(request) === 0) return call('kv_set', { key: 'a', value: 1 });
      return stopped ? text('finished after all') : { hang: true };
    });
    const { task_id } = await kernel.tool('submit_task', { goal: 'take long', agent_id: 'worker' });
    const id = String(task_id);
    await expect.poll(async () => (await kernel.clock.advance(50), kernel.requests.length)).toBe(2);
    stopped = true;
    await kernel.test.restart();
    expect(await kernel.task(id)).toMatchObject({ state: 'pending', note: 'Pith was stopped', steps: 1 });
    await kernel.test.kernel.start();
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'finished after all', steps: 2, attempts: 0 });
    expect(kernel.requests).toHaveLength(3);
    expect(kernel.requests.at(-1)!.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('K91: a failure is tried again after 5 s, in the same turn', async () => {
    let failures = 0;
    await using kernel = await taskKernel((request) => {
      if (stepOf(request) === 0) return call('kv_set', { key: 'a', value: 1 });
      return (failures += 1) < 3 ? { error: new Error('the model is down') } : text('worked in the end');
    });
    const { task_id } = await kernel.tool('submit_task', { goal: 'be patient', agent_id: 'worker' });
    const id = String(task_id);
    await kernel.until(id, 'retry_scheduled');
    const began = kernel.clock.now();
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'worked in the end', steps: 2 });
    expect(kernel.clock.now() - began).toBeGreaterThan(14_000); // 5 s, then 10 s
    expect(kernel.requests.filter((request) => stepOf(request) === 0)).toHaveLength(1);
  });

  it('K93: the person who submitted a task is told of its end and of its questions, and of no subtask', async () => {
    await using kernel = await taskKernel((request) => {
      const message = lastUser(request);
      if (message.startsWith('child')) return text('the child is done');
      if (message.startsWith('parent')) return stepOf(request) === 0 ? call('submit_task', { goal: 'child' }) : text('wait');
      if (message.includes('has answered')) return text('all of it is done');
      return stepOf(request) === 0 ? call('request_human_review', { question: 'Shall I go on?' }) : text('asked');
    });
    const { task_id } = await kernel.tool('submit_task', { goal: 'parent', agent_id: 'worker' });
    const id = String(task_id);
    await kernel.until(id, 'human_review');
    await kernel.command('tasks', 'review', id, 'yes');
    await kernel.until(id, 'done');
    await expect
      .poll(() => kernel.notices())
      .toEqual([
        `Task ${id} (parent) asks: Shall I go on?; answer: pith tasks review ${id} "<your answer>"`,
        `Task ${id} (parent) is done:\n\nall of it is done`,
      ]);
  });
});
