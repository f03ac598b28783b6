import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue, ToolResult } from 'pith';
import type { TestKernelOptions } from 'pith/testing';
import { folderWith, kernelOf } from '../../places.ts';
import { type AskedTools, askedTools } from '../asked-tools.ts';

type ToolInput = Readonly<Record<string, JsonValue | undefined>>;

/** The file tools of a kernel whose sandbox stands beside a folder that must never be reached. */
export interface Workbench extends AskedTools {
  readonly sandbox: string;
  readonly outside: string;
  file(input: ToolInput, signal?: AbortSignal): Promise<ToolResult>;
  patch(text: string): Promise<ToolResult>;
  needsApproval(tool: string, input: ToolInput): Promise<boolean>;
  put(path: string, content: string | Uint8Array): Promise<void>;
  get(path: string): Promise<string>;
  /** Names in the sandbox; the kernel's own folder is not among them. */
  names(): Promise<readonly string[]>;
}

export const SECRET = 'CANARY-outside-content';

export async function workbench(flags: TestKernelOptions['flags'] = {}, given?: string): Promise<Workbench> {
  const parent = folderWith({ 'outside/secret.txt': SECRET });
  const sandbox = given ?? join(parent, 'sandbox');
  const pith = await kernelOf({ sandbox, flags, only: ['core_tools'] });
  const tools = askedTools(pith, 'core_tools');
  return {
    ...tools,
    sandbox,
    outside: join(parent, 'outside'),
    file: (input, signal) => tools.call('file', input as JsonValue, signal),
    patch: (text) => tools.call('apply_patch', { patch: text }),
    needsApproval: async (name, input) => (await tools.question(name, input as JsonValue)) !== null,
    put: pith.write,
    get: (path) => readFile(join(sandbox, path), 'utf8'),
    names: async () => (await readdir(sandbox)).filter((name) => name !== 'data').sort(),
  };
}
