import { defineTool, messageOf, PithError, type Tool, type ToolCall, z } from '../contract/index.ts';
import { TOOL_NAME } from '../kernel/index.ts';
import type { EmbeddedTool } from './options.ts';
import { type AnySchema, schemaOf } from './schemas.ts';
import { lastOf, modelOutput } from './tool-results.ts';

/** The tools of a program under their names, which give way to those of what ships. Throws `settings_invalid`. */
export function toolsOf(given: Readonly<Record<string, EmbeddedTool>>): readonly Tool[] {
  return Object.entries(given).map(([name, tool]) => {
    if (!TOOL_NAME.test(name)) throw invalid(`tools: '${name}' cannot be the name of a tool`, 'use 1 to 64 letters, digits, _ and -');
    return { ...toolOf(name, tool), overridable: true };
  });
}

function toolOf(name: string, given: EmbeddedTool): Tool {
  if (typeof given === 'function')
    return defineTool({
      name,
      description: name.replaceAll(/[_-]/gu, ' '),
      input: z.object({}),
      execute: (_, call) => lastOf(given(call), call.signal),
    });
  if ('kind' in given) return { ...given, name };
  const { description = '', inputSchema = { type: 'object', properties: {} }, needsApproval, effect, timeoutMs } = given;
  const { execute, toModelOutput } = given;
  if (execute === undefined) throw invalid(`tools.${name}: it has no execute`, 'write what it does, or leave it out');
  if ('parameters' in given) throw invalid(`tools.${name}: it has parameters, of an older form`, 'name them inputSchema');
  const schema = schemaOf(inputSchema, `tools.${name}`);
  const run = execute as (value: unknown, call: unknown) => unknown;
  const present = toModelOutput as ((options: object) => unknown) | undefined;
  const asks = needsApproval as ((value: unknown, call: unknown) => boolean | Promise<boolean>) | boolean | undefined;
  return defineTool({
    name,
    description,
    input: parsedBy(schema),
    inputSchema: schema.json,
    ...(effect === undefined ? {} : { effect }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(asks === undefined ? {} : { needsApproval: typeof asks === 'boolean' ? asks : (input: unknown) => asks(input, { messages: [] }) }),
    async execute(input, call) {
      const given = ofAiSdk(call);
      const output = await lastOf(run(input, given), call.signal);
      return present === undefined ? output : modelOutput(await present({ toolCallId: given.toolCallId, input, output }));
    },
  });
}

/** What the schema makes of the input; a check that fails itself refuses it. */
function parsedBy({ check }: AnySchema): z.ZodType {
  return z.unknown().transform(async (value, context) => {
    const result = await check(value).catch((error: unknown) => ({ problems: [messageOf(error)] }));
    if ('value' in result) return result.value;
    for (const message of result.problems) context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** What tools of the AI SDK are called with, beside what Pith's are. */
function ofAiSdk(call: ToolCall) {
  return { ...call, toolCallId: call.idempotencyKey, messages: [], abortSignal: call.signal };
}

function invalid(message: string, cure: string): PithError {
  return new PithError('settings_invalid', message, { cure });
}
