import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ApprovalQuestion, JsonValue, Tool, ToolResult } from 'pith';
import { config } from '../../../sandbox/extensions/core_tools/config.ts';
import CoreTools from '../../../sandbox/extensions/core_tools/main.ts';
import { TURN } from '../../core/kernel/extensions.ts';
import { callTool, fakeContext } from '../fake-context.ts';

type ToolInput = Readonly<Record<string, JsonValue | undefined>>;

/** A real sandbox beside a folder that must never be reached. */
export interface Workbench {
  readonly sandbox: string;
  readonly outside: string;
  readonly tools: readonly Tool[];
  /** As with a person who says yes to whatever they are asked. */
  file(input: ToolInput, signal?: AbortSignal): Promise<ToolResult>;
  patch(text: string): Promise<ToolResult>;
  /** What a person is asked; null: nothing. */
  question(tool: string, input: ToolInput): Promise<ApprovalQuestion | null>;
  /** With exactly this subject agreed to. */
  approved(tool: string, input: ToolInput, subject: string | undefined): Promise<ToolResult>;
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
  const question = async (name: string, input: ToolInput): Promise<ApprovalQuestion | null> => {
    const tool = tools.find((candidate) => candidate.name === name);
    if (typeof tool?.needsApproval !== 'function') throw new Error(`${name} has no predicate`);
    const parsed = tool.input.safeParse(input);
    const said = parsed.success && (await tool.needsApproval(parsed.data, TURN));
    if (said === false) return null;
    if (typeof said !== 'object') throw new Error(`${name} asks without a subject`);
    return said;
  };
  const agreed = async (name: string, input: ToolInput, signal?: AbortSignal) =>
    callTool(tools, name, input, signal, (await question(name, input))?.subject);
  return {
    sandbox,
    outside,
    tools,
    file: (input, signal) => agreed('file', input, signal),
    patch: (text) => agreed('apply_patch', { patch: text }),
    question,
    approved: (name, input, subject) => callTool(tools, name, input, undefined, subject),
    needsApproval: async (name, input) => (await question(name, input)) !== null,
    async put(path, content) {
      await mkdir(dirname(join(sandbox, path)), { recursive: true });
      await writeFile(join(sandbox, path), content);
    },
    get: (path) => readFile(join(sandbox, path), 'utf8'),
    remove: () => rm(home, { recursive: true, force: true }),
  };
}
