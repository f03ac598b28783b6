import path from 'node:path';
import type { JsonValue, ToolCall, TopicMap } from '../../../core/contract/index.ts';
import type { Host } from '../../../core/kernel/index.ts';
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
  const write = async (file: string, text: string) => writeFiles(directory, { [file]: text });
  const declare = async (id: string, provides: string, body: string, more = '') => {
    const main = `import { defineTool, toolError, toolResult, z, PithError } from 'pith';\n${body}\n`;
    writeFiles(directory, { ...extension(id, more, provides), [`extensions/${id}/main.ts`]: main });
  };
  return {
    directory,
    failures,
    write,
    remove: async (file: string) => removeFile(directory, file),
    /** `more` is added to the manifest. */
    extension: declare,
    /** Writes the extension, and has this host look at once. */
    edit: (host: Host, ...written: Parameters<typeof declare>) => declare(...written).then(() => host.extensions.refresh()),
    /** The same with one file. */
    rewrite: (host: Host, file: string, text: string) => write(file, text).then(() => host.extensions.refresh()),
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

/** Calls a tool of an extension, by default the one of `toolClass`. */
export function callTool(host: Pick<Host, 'providers'>, id: string, tool = 'work', input: JsonValue = {}, signal = NEVER) {
  return host.providers.tools.call(id, tool, input, { ...CALL, signal });
}

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
