import { describe, expect, it } from 'vitest';
import type { TurnInfo } from 'pith';
import { lastUser, stepOf, taskKernel } from './task-kernel.ts';

const text = (value: string) => ({ text: value });
const call = (name: string, input: Record<string, unknown>) => ({ calls: [{ name, input: input as never }] });

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

  it('K90: the worker gets no tool that the submitter lacked, its user goes with it, and limits only shrink', async () => {
    await using kernel = await taskKernel((request) => {
      if (lastUser(request).includes('please'))
        return stepOf(request) === 0 ? call('submit_task', { goal: 'count', max_steps: 500 }) : text('ok');
      return text('counted');
    });
    const policy = { denyTools: ['kv/kv_delete'] };
    await kernel.test.run('please', { agent: 'boss', policy, channelId: 'web', userId: 'ada' });
    await expect.poll(async () => (await kernel.clock.advance(50), kernel.requests.length)).toBe(3);
    const worker = kernel.requests.find((request) => lastUser(request).startsWith('count'))!;
    const names = worker.tools.map(({ name }) => name);
    expect(names).toContain('kv_get');
    expect(names).not.toContain('kv_delete');
    expect(names).not.toContain('respond_to_review');
    const unfinished = (await kernel.test.kernel.threads.list(10)).find(({ id }) => id.startsWith('tasks/'))!;
    expect(unfinished.agentId).toBe('boss');
    const { tasks } = await kernel.tool('list_tasks', {});
    expect(tasks).toEqual([]); // they are ada's, and this user is another
  });

  it('K90: what the submitter was denied stays denied to another agent that works on the task', async () => {
    await using kernel = await taskKernel((request) => {
      if (lastUser(request).includes('please'))
        return stepOf(request) === 0 ? call('submit_task', { goal: 'count', agent_id: 'worker' }) : text('ok');
      return text('counted');
    });
    await kernel.test.run('please', { agent: 'boss', policy: { denyTools: ['kv/kv_delete'] } });
    await expect.poll(async () => (await kernel.clock.advance(50), kernel.requests.length)).toBe(3);
    const worker = kernel.requests.find((request) => lastUser(request).startsWith('count'))!;
    const names = worker.tools.map(({ name }) => name);
    expect(names).toContain('kv_get');
    expect(names).not.toContain('kv_delete');
  });

  it('T14: whom a stranger lets work comes to the task: neither it nor another agent has more than the stranger', async () => {
    const startedBy = [{ extensionId: 'task_engine', ownOnly: true }]; // as if that were a stranger: of its tools there is one to submit
    await using kernel = await taskKernel((request) => {
      if (lastUser(request).includes('please'))
        return stepOf(request) === 0 ? call('submit_task', { goal: 'count', agent_id: 'worker' }) : text('ok');
      return text('counted');
    });
    await kernel.test.run('please', { agent: 'boss', policy: { startedBy } });
    await expect.poll(async () => (await kernel.clock.advance(50), kernel.requests.length)).toBe(3);
    const worker = kernel.requests.find((request) => lastUser(request).startsWith('count'))!;
    const names = worker.tools.map(({ name }) => name);
    expect(names).toContain('complete_task');
    expect(names).not.toContain('kv_get');
  });

  it('K91: a call that is repeated after a crash submits nothing twice', async () => {
    await using kernel = await taskKernel(() => text('done'), { start: false });
    const { host, agents } = kernel.test.kernel;
    const { spec } = await agents.resolve('boss');
    const turn = {
      threadId: 'talk',
      agent: spec,
      channelId: 'cli',
      userId: 'local',
      tools: ['task_engine/submit_task'],
      depth: 0,
    } as unknown as TurnInfo;
    const submit = () =>
      host.providers.tools.call(
        'task_engine',
        'submit_task',
        { goal: 'once' },
        { turn, idempotencyKey: 'turn/0/0', signal: new AbortController().signal },
      );
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

  it('K91: two kernels of one sandbox work side by side, and no task runs twice', async () => {
    const runs: string[] = [];
    const reply = (request: Parameters<typeof lastUser>[0]) => {
      runs.push(/^(\w+)/.exec(lastUser(request))![1]!);
      return text('done');
    };
    await using first = await taskKernel(reply, { start: false });
    const goals = Array.from({ length: 12 }, (_, index) => `goal${index}`);
    const ids: string[] = [];
    for (const goal of goals) ids.push(String((await first.tool('submit_task', { goal, agent_id: 'worker' }))['task_id']));
    await using second = await taskKernel(reply, { sandbox: first.test.sandbox, start: false });
    await Promise.all([first.test.kernel.start(), second.test.kernel.start()]);
    for (const id of ids) {
      await expect
        .poll(async () => (await Promise.all([first.clock.advance(20), second.clock.advance(20)]), (await first.task(id))['state']))
        .toBe('done');
    }
    expect(runs.sort()).toEqual(goals.sort());
  });
});
