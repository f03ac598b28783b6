import { recordEvents } from 'pith/testing';
import { PithError } from 'pith';
import { describe, expect, it } from 'vitest';
import { passing } from '../../waiting.ts';
import { call, lastUser, stepOf, taskKernel, text } from './task-kernel.ts';

describe('tasks that are held up', () => {
  it('K91 K93: cancel ends the running turn, and takes subtasks and what waits with it', async () => {
    let aborted = false;
    await using kernel = await taskKernel((request) => {
      if (!lastUser(request).startsWith('parent')) return { hang: true };
      request.options.abortSignal?.addEventListener('abort', () => (aborted = true));
      return stepOf(request) === 0 ? call('submit_task', { goal: 'child' }) : { hang: true };
    });
    const parent = await kernel.submit('parent');
    const later = await kernel.submit('later', { agent_id: 'boss', after: [parent] });
    await kernel.asked(3);
    const { tasks } = await kernel.tool('list_tasks', { state: 'running' });
    const child = (tasks as { id: string; goal: string }[]).find(({ goal }) => goal === 'child')!.id;
    expect(await kernel.command('tasks', 'cancel', parent)).toMatchObject({ state: 'cancelled', note: 'cancelled by a person' });
    expect(await kernel.until(child, 'cancelled')).toMatchObject({ note: `its parent ${parent} is cancelled` });
    expect(await kernel.until(later, 'cancelled')).toMatchObject({ error: { code: 'dependency_failed' } });
    await expect.poll(async () => (await kernel.clock.advance(50), aborted)).toBe(true);
    const again = await kernel.command('tasks', 'retry', parent);
    expect(again).toMatchObject({ state: 'pending', error: null });
    expect(await kernel.task(later)).toMatchObject({ state: 'blocked' });
  });

  it('K91: a task that Pith is stopped in goes on where it was, in the same turn', async () => {
    let stopped = false;
    await using kernel = await taskKernel((request) => {
      if (stepOf(request) === 0) return call('kv_set', { key: 'a', value: 1 });
      return stopped ? text('finished after all') : { hang: true };
    });
    const id = await kernel.submit('take long');
    await kernel.asked(2);
    expect((await kernel.test.command('tasks list')).text).toMatch(/running +\w+ +2 /u); // the second is under way
    stopped = true;
    await kernel.test.restart();
    expect(await kernel.task(id)).toMatchObject({ state: 'pending', note: 'Pith was stopped', steps: 1 });
    await kernel.test.kernel.start();
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'finished after all', steps: 2, attempts: 0 });
    expect(kernel.requests).toHaveLength(3);
    expect(kernel.requests.at(-1)!.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('K91: a failure is tried again after 5 s, in the same turn', async () => {
    const asked: number[] = [];
    await using kernel = await taskKernel((request) => {
      if (stepOf(request) === 0) return call('kv_set', { key: 'a', value: 1 });
      return asked.push(kernel.clock.now()) < 3 ? { error: new Error('the model is down') } : text('worked in the end');
    });
    const id = await kernel.submit('be patient');
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'worked in the end', steps: 2 });
    expect(asked[1]! - asked[0]!).toBeGreaterThanOrEqual(4_500); // 5 s ± a tenth, then 10
    expect(asked[2]! - asked[1]!).toBeGreaterThanOrEqual(9_000);
    expect(kernel.requests.filter((request) => stepOf(request) === 0)).toHaveLength(1);
  });

  it('J11: a task whose provider takes no requests waits until it does, in the same turn, and has not failed', async () => {
    const asked: number[] = [];
    const limited = new PithError('model_rate_limited', 'too many requests', { retryAfterMs: 6_000 });
    await using kernel = await taskKernel((request) => {
      if (stepOf(request) === 0) return call('kv_set', { key: 'a', value: 1 });
      return asked.push(kernel.clock.now()) <= 6 ? { error: limited } : text('worked in the end');
    });
    const id = await kernel.submit('be patient');
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'worked in the end', steps: 2, attempts: 0 });
    expect(asked.slice(1).every((at, index) => at - asked[index]! >= 6_000)).toBe(true);
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
    const heard = recordEvents(kernel.test.kernel.events);
    const id = await kernel.submit('parent');
    const asks = `Task ${id} (parent) asks: Shall I go on?; answer: pith tasks review ${id} "<your answer>"`;
    const ends = `Task ${id} (parent) is done:\n\nall of it is done`;
    await kernel.until(id, 'human_review');
    // Only then is it answered: a question that was answered before it could be told is not told.
    await expect.poll(() => kernel.notices()).toEqual([asks]);
    await kernel.command('tasks', 'review', id, 'yes');
    await kernel.until(id, 'done');
    await expect.poll(() => kernel.notices()).toEqual([asks, ends]);
    const about = { kind: 'task', id };
    expect(heard.of('notify')).toMatchObject([{ about }, { about }]);
    expect(heard.of('notice.settled')).toContainEqual({ v: 1, about }); // the question is answered
  });
});

/** A tool that a person must approve, and that counts how often it ran. */
const LAUNCHER = {
  'agents/pilot/manifest.yaml': 'id: pilot\nversion: 1.0.0\nagent:\n  description: Flies.\n  uses_tools: [task_engine, launcher]\n',
  'extensions/launcher/manifest.yaml': 'id: launcher\nentrypoint: main.ts\nprovides: [tool]\n',
  'extensions/launcher/main.ts': `
import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    return [
      defineTool({ name: 'launch', description: 'Launches.', input: z.object({}), needsApproval: true,
        execute: async () => {
          const launches = ((await this.context.kv.get('launches')) ?? 0) + 1;
          await this.context.kv.set('launches', launches);
          return 'launched ' + launches;
        } }),
    ];
  }
}
`,
};

const pilot = (request: Parameters<typeof stepOf>[0]) =>
  stepOf(request) === 0
    ? call('launch')
    : text(`it says ${JSON.stringify(request.messages.at(-1)).match(/launched \d|approval_denied/)?.[0]}`);

describe('tasks whose tools need approval', () => {
  it.each([
    ['puts the task into human_review; the answer continues it, without a second run', false],
    ['is answered to the task, also when whoever approved has continued the thread already', true],
  ])('K91 K50: a tool call that needs approval %s', async (_what, continued) => {
    await using kernel = await taskKernel(pilot, { files: LAUNCHER });
    const id = await kernel.submit('fly', { agent_id: 'pilot' }, 'pilot');
    expect(await kernel.until(id, 'human_review')).toMatchObject({ note: expect.stringContaining('pith approvals') });
    const { approvals } = kernel.test.kernel;
    const [question] = await approvals.list();
    expect(question).toMatchObject({ tool: 'launcher/launch', rootThreadId: `tasks/${id}` });
    await approvals.answer(question!.id, { answer: 'once', by: 'local' });
    const resume = { agent: 'pilot', threadId: `tasks/${id}`, input: undefined, resume: true } as const;
    const here = continued ? await kernel.test.run('', resume) : null;
    expect(here?.text).toBe(continued ? 'it says launched 1' : undefined);
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'it says launched 1' });
    expect(kernel.requests).toHaveLength(2);
  });

  it('J1 K91: an answer to another question lets the task wait again for its own', async () => {
    await using kernel = await taskKernel(pilot, { files: LAUNCHER });
    const id = await kernel.submit('fly', { agent_id: 'pilot' }, 'pilot');
    await kernel.until(id, 'human_review');
    const { approvals, jobs } = kernel.test.kernel;
    const [question] = await approvals.list();
    const [job] = await jobs.store.list({ names: ['task_engine.work'], limit: 1 });
    await jobs.store.resume(job!.id, 'null'); // as by an answer that was given within the turn
    await passing(kernel.clock, () => kernel.states().filter((state) => state === `${id} human_review`).length === 2);
    expect(await approvals.list()).toEqual([question]);
    await approvals.answer(question!.id, { answer: 'once', by: 'local' });
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'it says launched 1', attempts: 0 });
    expect(kernel.requests).toHaveLength(2);
  });
});
