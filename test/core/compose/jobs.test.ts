import { describe, expect, it } from 'vitest';
import type { TestKernelOptions } from 'pith/testing';
import { kernelOf } from '../../places.ts';

const MANIFEST = `id: worker
entrypoint: main.ts
provides: [tool]
jobs:
  - name: greet
`;
const MAIN = `import { defineTool, toolResult, z, type ExtensionContext } from 'pith';

export default class Worker {
  constructor(private readonly context: ExtensionContext) {
    context.jobs.define<{ name: string }>('greet', async (job) => {
      await context.kv.set('greeted', job.payload.name);
      return { hello: job.payload.name, attempt: job.attempt };
    });
  }
  getTools() {
    return [
      defineTool({
        name: 'greet',
        description: 'Greets later.',
        input: z.object({ name: z.string() }),
        effect: 'idempotent',
        needsApproval: false,
        execute: async ({ name }) => {
          const { id } = await this.context.jobs.add('greet', { name });
          return toolResult(await this.context.jobs.finished(id));
        },
      }),
    ];
  }
}
`;
const AGENT = 'id: asker\nagent: { uses_tools: [worker] }\n';
const TIERS = [
  ['in process', { isolation: 'in_process' }],
  ['in a process of its own', { isolation: 'process' }],
] satisfies [string, TestKernelOptions][];

describe('context.jobs', () => {
  it.each(TIERS)('J1, J2, J17: a job that a tool adds is done by its handler %s', async (_, options) => {
    const pith = await kernelOf({
      only: [],
      ...options,
      files: { 'extensions/worker/manifest.yaml': MANIFEST, 'extensions/worker/main.ts': MAIN, 'agents/asker/manifest.yaml': AGENT },
    });
    await pith.kernel.start();
    expect(await pith.kernel.agents.callTool('asker', 'greet', { name: 'Ada' })).toMatchObject({
      ok: true,
      output: { name: 'worker.greet', state: 'done', result: { hello: 'Ada', attempt: 1 } },
    });
  });
});
