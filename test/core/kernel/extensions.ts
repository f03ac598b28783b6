import path from 'node:path';
import type { ToolCall, TopicMap } from '../../../core/contract/index.ts';
import type { TestKernel, TestKernelOptions } from 'pith/testing';
import { TURN } from '../../fixtures/agent-spec.ts';
import { folderWith, kernelOf, writeFiles } from '../../places.ts';
import { extension, removeFile } from '../declarations/sandbox-folder.ts';

export type TestSandbox = ReturnType<typeof testSandbox>;

/** Extensions written as code into one folder, and as many test kernels over it as are asked for: they end with the test. */
export function testSandbox() {
  const directory = path.join(folderWith(), 'sandbox');
  const kernels: TestKernel[] = [];
  const failures: TopicMap['extension.failed'][] = [];
  return {
    directory,
    failures,
    write: async (file: string, text: string) => writeFiles(directory, { [file]: text }),
    remove: async (file: string) => removeFile(directory, file),
    /** `more` is added to the manifest. */
    async extension(id: string, provides: string, body: string, more = '') {
      const main = `import { defineTool, toolError, toolResult, z, PithError } from 'pith';\n${body}\n`;
      writeFiles(directory, { ...extension(id, more, provides), [`extensions/${id}/main.ts`]: main });
    },
    async host(options: TestKernelOptions = {}) {
      const kernel = await kernelOf({ sandbox: directory, only: [], flags: { extensions_sandbox: 'off' }, ...options });
      kernels.push(kernel);
      kernel.kernel.events.handle('extension.failed', (failure) => void failures.push(failure));
      return kernel.kernel.host;
    },
    async close() {
      for (const kernel of kernels.splice(0)) await kernel.stop();
    },
  };
}

export const CALL: Omit<ToolCall, 'signal'> = { turn: TURN, idempotencyKey: 'k1' };

/** A class with one tool named `work` whose `execute` has this body. */
export function toolClass(body: string, more = ''): string {
  return `export default class Sample {
  ${more}
  getTools() {
    return [defineTool({ name: 'work', description: 'Works.', input: z.object({ n: z.number().optional() }), effect: 'read', async execute(input, call) { ${body} } })];
  }
}`;
}

export const NEVER = new AbortController().signal;
