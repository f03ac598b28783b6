import { existsSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { ToolCall, TopicMap } from '../../../core/contract/index.ts';
import type { Host } from '../../../core/kernel/index.ts';
import { testKernel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { TURN } from '../../fixtures/agent-spec.ts';
import { folderWith, writeFiles } from '../../places.ts';
import { extension, removeFile } from '../declarations/sandbox-folder.ts';

/** Extensions written as code into one folder, and kernels over it, which end with the test. */
export interface TestSandbox {
  readonly directory: string;
  readonly failures: TopicMap['extension.failed'][];
  storeOpened(): boolean;
  write(file: string, text: string): Promise<void>;
  remove(file: string): Promise<void>;
  /** `extensions/<id>/manifest.yaml` and `main.ts`. `manifest` is added to id and entrypoint. */
  extension(id: string, provides: string, body: string, manifest?: string): Promise<void>;
  /** The extensions of one more kernel. */
  host(options?: TestKernelOptions): Promise<Host>;
  close(): Promise<void>;
}

export function testSandbox(): TestSandbox {
  const directory = path.join(folderWith({}), 'sandbox');
  const kernels: TestKernel[] = [];
  const failures: TopicMap['extension.failed'][] = [];
  const close = async () => {
    for (const kernel of kernels.splice(0)) await kernel.stop();
  };
  onTestFinished(close);
  return {
    directory,
    failures,
    storeOpened: () => existsSync(path.join(directory, 'data/pith.db')),
    write: async (file, text) => writeFiles(directory, { [file]: text }),
    remove: async (file) => removeFile(directory, file),
    async extension(id, provides, body, more = '') {
      const main = `import { defineTool, toolError, toolResult, z, PithError } from 'pith';\n${body}\n`;
      writeFiles(directory, { ...extension(id, more, provides), [`extensions/${id}/main.ts`]: main });
    },
    async host(options = {}) {
      const kernel = await testKernel({ sandbox: directory, shipped: false, flags: { extensions_sandbox: 'off' }, ...options });
      kernels.push(kernel);
      kernel.kernel.events.handle('extension.failed', (failure) => void failures.push(failure));
      return kernel.kernel.host;
    },
    close,
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
