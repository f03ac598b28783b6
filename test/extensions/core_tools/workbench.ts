import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { JsonValue, Tool, ToolResult } from 'pith';
import { config } from '../../../sandbox/extensions/core_tools/config.ts';
import CoreTools from '../../../sandbox/extensions/core_tools/main.ts';
import { TURN } from '../../core/host/sandbox.ts';
import { callTool, fakeContext } from '../fake-context.ts';

type ToolInput = Readonly<Record<string, JsonValue | undefined>>;

/** A real sandbox beside a folder that must never be reached. */
export interface Workbench {
  readonly sandbox: string;
  readonly outside: string;
  readonly tools: readonly Tool[];
  file(input: ToolInput, signal?: AbortSignal): Promise<ToolResult>;
  patch(text: string): Promise<ToolResult>;
  needsApproval(tool: string, input: ToolInput): Promise<boolean>;
  put(path: string, content: string | Uint8Array): Promise<void>;
  get(path: string): Promise<string>;
  remove(): Promise<void>;
}

export const SECRET = 'CANARY-outside-content';

export async function workbench(settings: Record<string, unknown> = {}, dataFolder = 'data'): Promise<Workbench> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'pith-core-tools-')));
  const sandbox = join(home, 'sandbox');
  const outside = join(home, 'outside');
  await mkdir(sandbox);
  await mkdir(outside);
  await writeFile(join(outside, 'secret.txt'), SECRET);
  const context = fakeContext({
    config: config.parse(settings),
    sandbox,
    dataDirectory: join(sandbox, dataFolder, 'extensions', 'core_tools'),
  });
  const tools = new CoreTools(context).getTools();
  return {
    sandbox,
    outside,
    tools,
    file: (input, signal) => callTool(tools, 'file', input, signal),
    patch: (text) => callTool(tools, 'apply_patch', { patch: text }),
    async needsApproval(name, input) {
      const tool = tools.find((candidate) => candidate.name === name);
      if (typeof tool?.needsApproval !== 'function') throw new Error(`${name} has no predicate`);
      return (await tool.needsApproval(tool.input.parse(input), TURN)) !== false;
    },
    async put(path, content) {
      await mkdir(dirname(join(sandbox, path)), { recursive: true });
      await writeFile(join(sandbox, path), content);
    },
    get: (path) => readFile(join(sandbox, path), 'utf8'),
    remove: () => rm(home, { recursive: true, force: true }),
  };
}
