import { defineTool, PithError, type Tool, type ToolCall, z } from '../contract/index.ts';
import type { EmbeddedTool } from './options.ts';
import { schemaOf } from './schemas.ts';

/** The tools of a program under their names. Throws `settings_invalid`. */
export function toolsOf(given: Readonly<Record<string, EmbeddedTool>>): readonly Tool[] {
  return Object.entries(given).map(([name, tool]) => toolOf(name, tool));
}

function toolOf(name: string, given: EmbeddedTool): Tool {
  if (typeof given === 'function')
    return defineTool({ name, description: name.replaceAll(/[_-]/gu, ' '), input: z.object({}), execute: (_, call) => given(call) });
  if ('kind' in given) return { ...given, name };
  const { description = '', inputSchema = { type: 'object', properties: {} }, needsApproval, effect, timeoutMs, execute } = given;
  if (execute === undefined)
    throw new PithError('settings_invalid', `tools.${name}: it has no execute`, { cure: 'write what it does, or leave it out' });
  const { json, check } = schemaOf(inputSchema, `tools.${name}`);
  const input = z.unknown().transform(async (value, context) => {
    const result = await check(value);
    if ('value' in result) return result.value;
    for (const message of result.problems) context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
  const run = execute as (value: unknown, call: unknown) => unknown;
  const asks = needsApproval as ((value: unknown, call: unknown) => boolean | Promise<boolean>) | boolean | undefined;
  return defineTool({
    name,
    description,
    input,
    inputSchema: json,
    ...(effect === undefined ? {} : { effect }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(asks === undefined ? {} : { needsApproval: typeof asks === 'boolean' ? asks : (value: unknown) => asks(value, {}) }),
    execute: async (value, call) => plain(await run(value, ofAiSdk(call))),
  });
}

/** What tools of the AI SDK are called with, beside what Pith's are. */
function ofAiSdk(call: ToolCall): ToolCall & Readonly<Record<'toolCallId' | 'messages' | 'abortSignal', unknown>> {
  return { ...call, toolCallId: call.idempotencyKey, messages: [], abortSignal: call.signal };
}

/** A function that answers nothing has answered all the same. */
function plain(value: unknown): unknown {
  return value === undefined ? null : value;
}
