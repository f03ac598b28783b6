import { describe, expect, it } from 'vitest';
import { stepOf, taskKernel } from './task-kernel.ts';

const text = (value: string) => ({ text: value });
const call = (name: string) => ({ calls: [{ name, input: {} }] });

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
          const before = await this.context.kv.get('launches');
          await this.context.kv.set('launches', (before ?? 0) + 1);
          return 'launched ' + ((before ?? 0) + 1);
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
  it('K91 K50: a tool call that needs approval puts the task into human_review; the answer continues it, without a second run', async () => {
    await using kernel = await taskKernel(pilot, { files: LAUNCHER });
    const { task_id } = await kernel.tool('submit_task', { goal: 'fly' }, 'pilot');
    const id = String(task_id);
    expect(await kernel.until(id, 'human_review')).toMatchObject({ note: expect.stringContaining('pith approvals') });
    const [question] = await kernel.test.kernel.approvals.list();
    expect(question).toMatchObject({ tool: 'launcher/launch', rootThreadId: `tasks/${id}` });
    await kernel.test.kernel.approvals.answer(question!.id, { answer: 'once', by: 'local' });
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'it says launched 1' });
  });

  it('K91 K50: when whoever approved has continued the thread already, the task hears that answer', async () => {
    await using kernel = await taskKernel(pilot, { files: LAUNCHER });
    const { task_id } = await kernel.tool('submit_task', { goal: 'fly' }, 'pilot');
    const id = String(task_id);
    await kernel.until(id, 'human_review');
    const { approvals } = kernel.test.kernel;
    await approvals.answer((await approvals.list())[0]!.id, { answer: 'once', by: 'local' });
    const here = await kernel.test.run('', { agent: 'pilot', threadId: `tasks/${id}`, input: undefined, resume: true });
    expect(here.text).toBe('it says launched 1');
    expect(await kernel.until(id, 'done')).toMatchObject({ result: 'it says launched 1' });
    expect(kernel.requests).toHaveLength(2);
  });
});
