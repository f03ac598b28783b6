import type { ToolDescriptor } from '../records/extensions-port.ts';
import type { Tool } from '../../contract/index.ts';
import { Problem } from '../records/problem.ts';
import { isSchema } from '../settings/config-check.ts';

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const DEFAULT_TIMEOUT_MS = 20_000;

export interface DescribedTools {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly descriptors: readonly ToolDescriptor[];
  /** Properties whose type a JSON Schema cannot say. */
  readonly warnings: readonly string[];
}

/** What the kernel keeps of an extension's tools. Throws `tool_name_invalid` for bad and doubled names. Needs zod. */
export async function describeTools(list: readonly Tool[]): Promise<DescribedTools> {
  const { z: zod } = await import('zod');
  const tools = new Map<string, Tool>();
  const descriptors: ToolDescriptor[] = [];
  const warnings: string[] = [];
  if (!Array.isArray(list)) throw new Problem('initialize', 'provides_mismatch', 'getTools() did not return a list of tools');
  for (const tool of list as readonly Tool[]) {
    check(tool, tools);
    tools.set(tool.name, tool);
    const inputSchema = tool.inputSchema ?? zod.toJSONSchema(tool.input, { io: 'input', unrepresentable: 'any' });
    for (const path of tool.inputSchema ? [] : shapeless(inputSchema))
      warnings.push(`tool '${tool.name}': the model is not told what '${path}' must be, because JSON Schema cannot say it`);
    descriptors.push(describe(tool, inputSchema));
  }
  return { tools, descriptors, warnings };
}

function check(tool: Tool | undefined, known: ReadonlyMap<string, Tool>): void {
  const name = String(tool?.name);
  if (!NAME.test(name)) {
    throw new Problem('initialize', 'tool_name_invalid', `'${name}' cannot be the name of a tool`, {
      cure: 'use 1 to 64 letters, digits, _ and -',
    });
  }
  if (known.has(name))
    throw new Problem('initialize', 'tool_name_invalid', `two tools are named '${name}'`, { cure: 'rename one of them' });
  if (!isSchema(tool?.input) || typeof tool.execute !== 'function') {
    throw new Problem(
      'initialize',
      'provides_mismatch',
      `tool '${name}' lacks ${isSchema(tool?.input) ? 'execute(input, call)' : 'input: a zod schema'}`,
      { cure: 'make tools with defineTool' },
    );
  }
}

function describe(tool: Tool, inputSchema: Readonly<Record<string, unknown>>): ToolDescriptor {
  const { $schema: _, ...schema } = inputSchema as { $schema?: unknown } & Record<string, unknown>;
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: schema,
    effect: tool.effect ?? 'write',
    needsApproval: typeof tool.needsApproval === 'function' ? 'maybe' : tool.needsApproval ? 'always' : 'never',
    timeoutMs: tool.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    optIn: tool.optIn ?? false,
    ...(tool.agentTools === true ? { agentTools: true } : {}),
    ...(tool.yields === true ? { yields: true } : {}),
    permission: tool.permission ?? {},
  };
}

/** Paths of properties whose schema is `{}`, by accident or by z.unknown(). */
function shapeless(schema: unknown, path: readonly string[] = []): readonly string[] {
  const properties = (schema as { properties?: Readonly<Record<string, object>> } | null)?.properties ?? {};
  return Object.entries(properties).flatMap(([name, property]) => {
    const keys = Object.keys(property).filter((key) => key !== 'description' && key !== 'default');
    return keys.length === 0 ? [[...path, name].join('.')] : shapeless(property, [...path, name]);
  });
}
