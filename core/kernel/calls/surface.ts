import {
  type JsonValue,
  PithError,
  type Protocol,
  type Tool,
  type ToolCall,
  type ToolResult,
  type TurnInfo,
} from '../../contract/index.ts';
import { KERNEL_PROTOCOLS } from '../../declarations/index.ts';
import type { LanePolicy } from './job-calls.ts';
import { describeTools, type ToolDescriptor, asksApproval, executeTool, refusalOf } from './tools.ts';

/** What the kernel knows of an extension without its code. Plain JSON; the persisted index keeps it. */
export interface SurfaceDescriptor {
  /** Those that it provides and only code in the kernel's process reaches. */
  readonly inProcessOnly: readonly string[];
  /** The methods of its protocols, such as `skill.listSkills`, and how each is called. */
  readonly operations: Readonly<Record<string, OperationFacts>>;
  readonly tools: readonly ToolDescriptor[];
  /** `context.contextPriority`, `channel.kinds`, …: as they were when the extension was activated. */
  readonly constants: Readonly<Record<string, JsonValue>>;
  readonly warnings: readonly string[];
  /** It has tools of one turn: `getTurnTools`. */
  readonly turnTools?: true;
}

/** How the kernel calls one method of a protocol. */
export interface OperationFacts {
  /** Milliseconds until a call is cut; null for none. */
  readonly timeoutMs: number | null;
  /** It answers with parts. */
  readonly stream?: true;
  /** Neither its arguments nor its answer are copied. */
  readonly byReference?: true;
}

/** One protocol that an extension provides, and what implements it: its instance, or what the constructor gave to `context.provide`. */
export interface Implementation {
  readonly protocol: Protocol;
  readonly on: object;
}

/** `values` are the arguments without the signal, which the host carries apart. */
export type Operation = (values: readonly unknown[], signal: AbortSignal) => Promise<unknown>;

/** An activated extension as plain data and operations by name: `tool.execute`, `context.getContext`, `skill.listSkills`, … */
export interface Surface {
  readonly descriptor: SurfaceDescriptor;
  readonly operations: ReadonlyMap<string, Operation>;
  /** Of its jobs with lanes, by name. Absent: none. */
  readonly lanes?: ReadonlyMap<string, LanePolicy>;
}

/**
 * `own`: operations beside those of its protocols. Its descriptor has gone through `redact`: prompts and the index show it. Throws a `Problem` when the tools cannot be offered.
 */
export async function surfaceOf(
  instance: object,
  implementations: readonly Implementation[],
  redact: <T>(value: T) => T,
  own: readonly (readonly [string, Operation])[] = [],
): Promise<Surface> {
  const members = instance as Readonly<Record<string, unknown>>;
  const operations = new Map<string, Operation>(own);
  const constants: Record<string, JsonValue> = {};
  for (const { protocol, on } of implementations) {
    const { id } = protocol;
    for (const [name, member] of Object.entries(protocol.members)) {
      const part = (on as Readonly<Record<string, unknown>>)[name];
      if (part === undefined) continue;
      if (member.kind === 'constant') constants[`${id}.${name}`] = part as JsonValue;
      else operations.set(`${id}.${name}`, methodOf(on, part as Method, member.signalAt));
    }
  }
  const protocols = implementations.map(({ protocol }) => protocol);
  const facts = protocols.flatMap((protocol) => factsOf(protocol).filter(([name]) => operations.has(name)));
  const offered = {
    inProcessOnly: protocols.filter(({ inProcessOnly }) => inProcessOnly).map(({ id }) => id),
    operations: Object.fromEntries(facts),
  };
  for (const name of [SECRET_USES, FINDINGS]) {
    const method = members[name.slice('extension.'.length)];
    if (typeof method === 'function') operations.set(name, methodOf(instance, method as Method, 0));
  }
  const make = async () => (members['getTools'] as () => readonly Tool[] | Promise<readonly Tool[]>).call(instance);
  if (!protocols.some(({ id }) => id === 'tool'))
    return { descriptor: { ...offered, ...redact({ tools: [], constants, warnings: [] }) }, operations };
  let tools: Tools = new Map();
  const describe = async () => {
    const made = await describeTools(await make());
    tools = made.byName;
    return made.described;
  };
  for (const [name, operation] of toolOperations(() => tools)) operations.set(name, operation);
  operations.set('tool.describe', describe);
  const { tools: descriptors, warnings } = redact(await describe());
  const turnTools = operations.has(TURN_TOOLS) ? { turnTools: true as const } : {};
  return { descriptor: { ...offered, constants: redact(constants), tools: descriptors, warnings, ...turnTools }, operations };
}

export const DEFAULT_TIMEOUT_MS = 10_000;

/** A stream has no limit but the caller's signal and the provider's life: it may last. */
function factsOf({ id, members }: Protocol): readonly (readonly [string, OperationFacts])[] {
  return Object.entries(members).flatMap(([name, { kind, timeoutMs = DEFAULT_TIMEOUT_MS, byReference }]) => {
    if (kind === 'constant') return [];
    const facts: OperationFacts = kind === 'stream' ? { timeoutMs: null, stream: true } : { timeoutMs };
    return [[`${id}.${name}`, byReference ? { ...facts, byReference } : facts] as const];
  });
}

/** What the kernel holds its own protocols to, whatever a provider says of them. */
export const KERNEL_OPERATIONS: ReadonlyMap<string, OperationFacts> = new Map([...KERNEL_PROTOCOLS.values()].flatMap(factsOf));

/** The operation that says where an extension sends its secrets. */
export const SECRET_USES = 'extension.secretUses';

/** The operation that says what is wrong in an extension's own matters. */
export const FINDINGS = 'extension.findings';

/** The operation that a turn asks for its own tools. */
export const TURN_TOOLS = 'tool.getTurnTools';

type Method = (...values: unknown[]) => unknown;

/** The signal is in its place, whatever was left out before it. */
function methodOf(on: object, method: Method, signalAt: number | undefined): Operation {
  if (signalAt === undefined) return async (values) => method.call(on, ...values);
  return async (values, signal) => method.call(on, ...Array.from({ length: signalAt }, (_, at) => values[at]), signal);
}

type Tools = ReadonlyMap<string, Tool>;

function toolOperations(tools: () => Tools): readonly (readonly [string, Operation])[] {
  const find = (name: unknown): Tool => {
    const tool = tools().get(String(name));
    if (!tool) throw new PithError('tool_gone', `the tool '${String(name)}' is not there any more`);
    return tool;
  };
  return [
    [
      'tool.execute',
      async ([name, input, call], signal) => executeTool(find(name), input as JsonValue, call as Omit<ToolCall, 'signal'>, signal),
    ],
    ['tool.needsApproval', async ([name, input, turn]) => asksApproval(find(name), input as JsonValue, turn as TurnInfo)],
    ['tool.refusal', async ([name, input]) => refusalOf(find(name), input as JsonValue)],
    ['tool.present', async ([name, result]) => find(name).present?.(result as ToolResult)],
  ];
}

/** `handler.<method>` for each method that a manifest names as a handler of events or schedules. What it returns is of no interest. */
export function handlerOperations(instance: object, handlers: readonly string[]): readonly (readonly [string, Operation])[] {
  const members = instance as Readonly<Record<string, (payload: unknown, delivery: unknown) => unknown>>;
  return handlers.map((name) => [
    `handler.${name}`,
    async ([payload, delivery], signal) => void (await members[name]?.call(instance, payload, { ...(delivery as object), signal })),
  ]);
}
