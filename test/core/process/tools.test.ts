import { afterEach, describe, expect, it } from 'vitest';
import { scriptedModel, testKernel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { manifest, tools } from './extension.ts';

let kernel: TestKernel | undefined;
afterEach(() => kernel?.stop());

async function open(options: TestKernelOptions): Promise<TestKernel> {
  return (kernel = await testKernel({ isolation: 'process', shipped: false, ...options }));
}

describe('tools of an extension in a separate process', () => {
  it('K5: a tool answers from another process, with its input parsed there', async () => {
    const model = scriptedModel([{ calls: [{ name: 'pid', input: { add: 1 } }] }, { text: 'done' }]);
    const { run } = await open({
      model,
      files: {
        ...manifest('mine', { provides: ['tool'] }),
        ...tools(
          'mine',
          `defineTool({ name: 'pid', description: 'p', input: z.object({ add: z.number() }), execute: ({ add }) => ({ pid: process.pid, sum: add + 1 }) })`,
        ),
        'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [mine] }\n',
      },
    });
    const { results, reason, error } = await run('go', { agent: 'asker' });
    expect({ reason, error }).toEqual({ reason: 'done', error: undefined });
    const output = results[0]?.output as { pid: number; sum: number };
    expect(output.sum).toBe(2);
    expect(output.pid).not.toBe(process.pid);
  });
});
