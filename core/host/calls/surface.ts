import type { JsonValue, Tool, ToolCall, ToolDescriptor, ToolResult } from '../../contract/index.ts';
import { PithError } from '../../contract/errors.ts';
import type { ProtocolId } from '../../contract/protocol.ts';
import type { SignalOf } from './calls.ts';
import { PROTOCOLS } from './protocols.ts';
import { asksApproval, executeTool } from './tool-call.ts';
import { describeTools } from './tool-descriptor.ts';

/** What the kernel knows of an extension without its code. Plain JSON; the persisted index keeps it. */
export interface SurfaceDescriptor {
  readonly provides: readonly ProtocolId[];
  readonly tools: readonly ToolDescriptor[];
  /** `context.contextPriority`, `channel.kinds`, …: as they were when the extension was activated. */
  readonly constants: Readonly<Record<string, JsonValue>>;
  readonly warnings: readonly string[];
}

/** `values` are the arguments without the signal, which the host carries apart. */
export type Operation = (values: readonly unknown[], signalOf: SignalOf) => unknown;

/** An activated extension as plain data and operations by name: `tool.execute`, `context.getContext`, `skill.listSkills`, … */
export interface Surface {
  readonly descriptor: SurfaceDescriptor;
  readonly operations: ReadonlyMap<string, Operation>;
}

/** Throws a `Problem` when the tools cannot be offered. */
export async function surfaceOf(instance: object, provides: readonly ProtocolId[]): Promise<Surface> {
  const members = instance as Readonly<Record<string, unknown>>;
  const operations = new Map<string, Operation>();
  const constants: Record<string, JsonValue> = {};
  for (const id of provides) {
    for (const [name, member] of Object.entries(PROTOCOLS.get(id)?.members ?? {})) {
      const part = members[name];
      if (part === undefined) continue;
      if (member.kind === 'constant') constants[`${id}.${name}`] = part as JsonValue;
      else operations.set(`${id}.${name}`, methodOf(instance, part as Method));
    }
  }
  const described = provides.includes('tool')
    ? await describeTools(await (members['getTools'] as () => readonly Tool[] | Promise<readonly Tool[]>).call(instance))
    : null;
  if (described) for (const [name, operation] of toolOperations(described.tools)) operations.set(name, operation);
  return { descriptor: { provides, tools: described?.descriptors ?? [], constants, warnings: described?.warnings ?? [] }, operations };
}

type Method = (...values: unknown[]) => unknown;

/** The signal follows the arguments, for methods that take it. */
function methodOf(instance: object, method: Method): Operation {
  return (values, signalOf) =>
    method.length > values.length ? method.call(instance, ...values, signalOf()) : method.call(instance, ...values);
}

function toolOperations(tools: ReadonlyMap<string, Tool>): readonly (readonly [string, Operation])[] {
  const find = (name: unknown): Tool => {
    const tool = tools.get(String(name));
    if (!tool) throw new PithError('tool_gone', `the tool '${String(name)}' is not there any more`);
    return tool;
  };
  return [
    [
      'tool.execute',
      ([name, input, call], signalOf) => executeTool(find(name), input as JsonValue, call as Omit<ToolCall, 'signal'>, signalOf),
    ],
    ['tool.needsApproval', ([name, input]) => asksApproval(find(name), input as JsonValue)],
    ['tool.present', ([name, result]) => find(name).present?.(result as ToolResult)],
  ];
}
