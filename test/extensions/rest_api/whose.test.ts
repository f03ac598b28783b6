import { captureCommand } from '@pith/command-line';
import { expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { CommandProvider } from '../../../core/contract/index.ts';
import { until } from '../../waiting.ts';
import { apiKernel } from './api-kernel.ts';

it('W2 W17 what the terminal lists says whose it is where it is not of the person who asks, and else says nothing', async () => {
  const wake = { name: 'schedule_once', input: { in: '1h', message: 'wake' } };
  const risk = { calls: [{ name: 'risk', input: {} }] };
  const api = await apiKernel([risk, { calls: [wake] }, { text: 'set' }, { text: 'done' }], {
    only: ['http', 'rest_api', 'task_engine', 'scheduler'],
    files: { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [risky, scheduler] }\n' },
  });
  const ann = await api.token({ userId: 'ann', may: 'approve' });
  const say = async (text: string) =>
    api.request(`/api/threads/${await api.thread(ann)}/messages`, { method: 'POST', token: ann, json: { text } });
  await say('act');
  await say('wake me');
  await api.request('/api/tasks', { method: 'POST', token: ann, json: { goal: ['mine'] } });
  await until(() => api.model.requests.length === 4);
  const { kernel } = api.pith;
  const remote = (id: string) => kernel.host.providers.remote(id, CommandProvider)!;
  const providers = [{ getCommands: () => kernelCommands(kernel) }, remote('task_engine'), remote('scheduler')];
  const shown = async (path: string, userId: string, question?: string): Promise<string> => {
    for (const provider of providers)
      if ((await provider.getCommands()).some((each) => each.path === path)) {
        const input = { userId, asAdmin: true, ...(question === undefined ? {} : { arguments: { question } }) };
        return (await captureCommand(provider, path, input, new AbortController().signal)).text;
      }
    throw new Error(`no command ${path}`);
  };
  for (const path of ['threads list', 'approvals', 'tasks list']) {
    expect([path, await shown(path, 'local')]).toEqual([path, expect.stringMatching(/ WHO .*\n.* ann /u)]);
    expect([path, await shown(path, 'ann')]).toEqual([path, expect.not.stringContaining('WHO')]);
  }
  expect(await shown('tasks schedules list', 'local')).toContain('  for ann  ');
  expect(await shown('tasks schedules list', 'ann')).not.toContain('for ann');
  expect(await shown('approvals', 'local', '1')).toContain('in a conversation of ann');
  expect(await shown('approvals', 'ann', '1')).not.toContain('in a conversation of');
});
