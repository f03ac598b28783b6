import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonValue, TurnInfo, TurnPolicy } from 'pith';
import { call, lastUser, stepOf, taskKernel, text } from './task-kernel.ts';

describe('what tasks may do', () => {
  it('K90: only to agents that the submitter may delegate to, or to itself; unknown ones get the nearest names', async () => {
    await using kernel = await taskKernel(() => text('done'), { start: false });
    expect(await kernel.refusal('submit_task', { goal: 'x', agent_id: 'stranger' })).toMatchObject({ code: 'not_allowed' });
    expect(await kernel.refusal('submit_task', { goal: 'x', agent_id: 'boss' }, 'worker')).toMatchObject({ code: 'not_allowed' });
    expect(await kernel.refusal('submit_task', { goal: 'x', agent_id: 'workr' })).toMatchObject({
      code: 'agent_unknown',
      message: expect.stringContaining("'worker'"),
    });
    expect(await kernel.tool('submit_task', { goal: 'x' })).toMatchObject({ state: 'pending' });
    expect(await kernel.refusal('get_task_status', { task_id: 'nope' })).toMatchObject({ code: 'task_unknown' });
    expect(await kernel.refusal('submit_task', { goal: 'x', after: ['nope'] })).toMatchObject({ code: 'task_unknown' });
  });

  /** `boss` submits a task in a turn under this policy; the tools of whoever works on it, and the kernel. */
  async function toolsOfWorker(task: Record<string, JsonValue>, policy: TurnPolicy) {
    const kernel = await taskKernel((request) => {
      if (!lastUser(request).includes('please')) return text('counted');
      return stepOf(request) === 0 ? call('submit_task', { goal: 'count', ...task }) : text('ok');
    });
    onTestFinished(() => kernel[Symbol.asyncDispose]());
    await kernel.test.run('please', { agent: 'boss', policy, channelId: 'web', userId: 'ada' });
    await kernel.asked(3);
    const worker = kernel.requests.find((request) => lastUser(request).startsWith('count'))!;
    return { kernel, names: worker.tools.map(({ name }) => name) };
  }

  it('K90: the worker gets no tool that the submitter lacked, its user goes with it, and limits only shrink', async () => {
    const { kernel, names } = await toolsOfWorker({ max_steps: 500 }, { denyTools: ['kv/kv_delete'] });
    expect(names).toContain('kv_get');
    expect(names).not.toContain('kv_delete');
    expect(names).not.toContain('respond_to_review');
    const unfinished = (await kernel.test.kernel.threads.list(10)).find(({ id }) => id.startsWith('tasks/'))!;
    expect(unfinished.agentId).toBe('boss');
    const { tasks } = await kernel.tool('list_tasks', {});
    expect(tasks).toEqual([]); // they are ada's, and this user is another
    const theirs = String(((await kernel.command('tasks', 'list')) as unknown as { readonly task_id: string }[])[0]?.task_id);
    for (const id of [theirs, theirs.slice(0, -1)])
      expect(await kernel.refusal('submit_task', { goal: 'x', after: [id] })).toMatchObject({
        code: 'task_unknown',
        message: `there is no task '${id}' to wait for`,
      });
  });

  it.each([
    ['K90: what the submitter was denied stays denied to another agent', { denyTools: ['kv/kv_delete'] }, 'kv_get', 'kv_delete'],
    [
      // as if that were a stranger: of its tools there is one to submit
      'T14: whom a stranger lets work has no more than the stranger, nor has another agent',
      { startedBy: [{ extensionId: 'task_engine', ownOnly: true }] },
      'complete_task',
      'kv_get',
    ],
  ])('%s that works on the task', async (_what, policy, has, lacks) => {
    const { names } = await toolsOfWorker({ agent_id: 'worker' }, policy);
    expect(names).toContain(has);
    expect(names).not.toContain(lacks);
  });

  it('K91: a call that is repeated after a crash submits nothing twice', async () => {
    await using kernel = await taskKernel(() => text('done'), { start: false });
    const { host, agents } = kernel.test.kernel;
    const { spec } = await agents.resolve('boss');
    const about = { threadId: 'talk', agent: spec, channelId: 'cli', userId: 'local', tools: ['task_engine/submit_task'], depth: 0 };
    const call = { turn: about as unknown as TurnInfo, idempotencyKey: 'turn/0/0', signal: new AbortController().signal };
    const submit = () => host.providers.tools.call('task_engine', 'submit_task', { goal: 'once' }, call);
    const first = await submit();
    expect(await submit()).toEqual(first);
    expect((await kernel.tool('list_tasks', {}))['tasks']).toHaveLength(1);
  });

  it('K91: when too many are unfinished, more are refused', async () => {
    const files = { 'pith.yaml': 'extensions:\n  task_engine:\n    max_open: 2\n' };
    await using kernel = await taskKernel(() => text('done'), { files, start: false });
    await kernel.tool('submit_task', { goal: 'one' });
    expect(await kernel.refusal('submit_chain', { steps: [{ goal: 'a' }, { goal: 'b' }] })).toMatchObject({ code: 'queue_full' });
    await kernel.tool('submit_task', { goal: 'two' });
    expect(await kernel.refusal('submit_task', { goal: 'three' })).toMatchObject({ code: 'queue_full' });
  });
});
