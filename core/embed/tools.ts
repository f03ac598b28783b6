import { defineTool, messageOf, PithError, type Tool, type ToolCall, z } from '../contract/index.ts';
import { TOOL_NAME } from '../kernel/index.ts';
import { sentSchema } from '@pith/tool-schemas';
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
  if ('kind' in given) {
    const { needsApproval, ...tool } = given;
    return { ...tool, name, ...asking(needsApproval) };
  }
  const { description = '', inputSchema = { type: 'object', properties: {} }, needsApproval, effect, timeoutMs } = given;
  const { execute, toModelOutput } = given;
  if (execute === undefined) throw invalid(`tools.${name}: it has no execute`, 'write what it does, or leave it out');
  if ('parameters' in given) throw invalid(`tools.${name}: it has parameters, of an older form`, 'name them inputSchema');
  const schema = schemaOf(inputSchema, `tools.${name}`);
  const sent = sentSchema(schema.json);
  if ('problem' in sent) throw invalid(`tools.${name}: ${sent.problem}`, 'give the schema of an object');
  const run = execute as (value: unknown, call: unknown) => unknown;
  const present = toModelOutput as ((options: object) => unknown) | undefined;
  return defineTool({
    name,
    description,
    input: parsedBy(schema),
    inputSchema: schema.json,
    ...(effect === undefined ? {} : { effect }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...asking(needsApproval),
    async execute(input, call) {
      const given = ofAiSdk(call);
      const output = await lastOf(run(input, given), call.signal);
      return present === undefined ? output : modelOutput(await present({ toolCallId: given.toolCallId, input, output }));
    },
  });
}

type EmbeddedObject = Exclude<EmbeddedTool, (call: ToolCall) => unknown>;

/** Whatever is not a clear no is asked about, with the reason: a function may throw, or forget to return something. */
function asking(asks: EmbeddedObject['needsApproval']): Pick<Tool, 'needsApproval'> {
  if (typeof asks !== 'function') return asks === undefined ? {} : { needsApproval: asks };
  return {
    async needsApproval(input, turn) {
      try {
        const said: unknown = await asks(input, { ...turn, messages: [] });
        if (typeof said === 'boolean' || typeof said === 'string' || (typeof said === 'object' && said !== null && 'text' in said))
          return said as boolean;
        return `needsApproval gave ${String(said)}, neither true nor false`;
      } catch (error) {
        return `needsApproval failed: ${messageOf(error)}`;
      }
    },
  };
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
  return { ...call, toolCallId: call.callId ?? call.idempotencyKey, messages: [], abortSignal: call.signal };
}

function invalid(message: string, cure: string): PithError {
  return new PithError('settings_invalid', message, { cure });
}
